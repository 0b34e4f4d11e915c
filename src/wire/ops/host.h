// The calls of a host itself.
//
//     OPEN       u8 kind, text container, text name, attributes   -> u64 uid, u64 epoch, attributes
//     LIST       nothing                                          -> {u8 kind, text container, text name}
//     CANCEL     u64 sequence of a call that changes something    -> nothing
//     WITHDRAW   u64 sequence of a question                       -> nothing
//
// REMOVE, LEAVE, PING and RELEASE have no operands. The attributes are those of the kind.
#ifndef WIRE_OPS_HOST_H
#define WIRE_OPS_HOST_H

#include "wire/ops/ops.h"

struct ops_open {
    uint8_t kind;          // enum call_kind
    weft_bytes container;  // empty: the host's own
    weft_bytes name;
    weft_bytes attributes;  // empty: as they are, or the kind's own
};

struct ops_opened {
    uint64_t uid, epoch;
    weft_bytes attributes;
};

struct ops_listed {
    uint8_t kind;
    weft_bytes container, name;
};

// CANCEL, WITHDRAW.
struct ops_recall {
    uint8_t op;
    uint64_t sequence;
};

void ops_open_encode(struct buf *out, const struct ops_open *from);
MUST_CHECK bool ops_open_decode(weft_bytes bytes, struct ops_open *to);
void ops_opened_encode(struct buf *out, const struct ops_opened *from);
MUST_CHECK bool ops_opened_decode(weft_bytes bytes, struct ops_opened *to);

void ops_list_make(struct ops_call *call);
void ops_listed_encode(struct buf *out, const struct ops_listed *from);
MUST_CHECK bool ops_listed_next(weft_bytes *list, struct ops_listed *to);

void ops_remove_make(struct ops_call *call);
void ops_recall_make(struct ops_call *call, const struct ops_recall *from);
MUST_CHECK bool ops_recall_decode(const struct call *call, struct ops_recall *to);

#endif
