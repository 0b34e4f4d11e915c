// place: HDFS as a place of answers, by the port (store/store.h).
#ifndef STORE_HDFS_PLACE_H
#define STORE_HDFS_PLACE_H

#include "store/store.h"

MUST_CHECK weft_err hdfs_place_open(const char *url, uint32_t patience_ms,
                                    struct store_place **place);

#endif
