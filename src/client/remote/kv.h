// remote_kv: what the two files of a kv share.
#ifndef CLIENT_REMOTE_KV_H
#define CLIENT_REMOTE_KV_H

#include "base/sized.h"
#include "client/member.h"

struct weft_kv {
    struct remote remote;  // first
};

#endif
