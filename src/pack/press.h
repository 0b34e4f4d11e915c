// press: writes the archive of a content, on all cores: tar, cut into pieces of one size, each compressed by itself.
//
//     frame 0    .weft-pack and the first files      zstd frames, each of PRESS_PIECE_BYTES of the tar but the last
//     ...
//     frame n    the last files
//     table      where each frame begins             the seekable format of zstd, which others skip
//
// The bytes depend on the content and the version of libzstd alone: neither on the number of cores nor on the time. `tar --zstd -x` reads it.
#ifndef PACK_PRESS_H
#define PACK_PRESS_H

#include "base/sha256.h"
#include "pack/content.h"

enum { PRESS_PIECE_BYTES = 4 << 20 };

struct press_options {
    int fd;               // written from 0 on
    const char *fd_name;  // for sentences
    int level;            // of zstd
    uint32_t threads;
    bool (*is_cancelled)(void);  // asked now and then; NULL: it is not
};

// DATA_LOSS: a file was changed in the meantime. CANCELLED. *size and sha256 are those of the archive.
MUST_CHECK weft_err press_content(const struct content *content,
                                  const struct press_options *options, uint64_t *size,
                                  uint8_t sha256[SHA256_BYTES]);

#endif
