// remote_kv: what the two files of a kv share.
#ifndef APP_REMOTE_KV_H
#define APP_REMOTE_KV_H

#include "app/member.h"

struct weft_kv {
    struct remote remote;  // first
};

#endif
