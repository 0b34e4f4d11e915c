// web_failure: why WebHDFS refuses a request. Pure. Thread: any.
//
//   {"RemoteException": {"exception": "FileNotFoundException", "message": "...", ...}}
#ifndef STORE_HDFS_WEB_FAILURE_H
#define STORE_HDFS_WEB_FAILURE_H

#include "base/err.h"

// Always a failure, with the exception and the first line of the message if the text has them. After the exception if that is known, else
// after the status.
MUST_CHECK weft_err web_failure_read(weft_bytes text, uint32_t status);

#endif
