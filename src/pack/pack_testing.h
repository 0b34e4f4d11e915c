// For tests of archives: one that is made entry by entry, as a stranger could.
#ifndef PACK_PACK_TESTING_H
#define PACK_PACK_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pack/label.h"
#include "pack/tar.h"
#include "store/codec/codec.h"
#include "sys/file/folder_testing.h"

static inline void testing_add(struct buf *tar, enum tar_kind kind, const char *path,
                               const char *text)
{
    static const char zeros[TAR_BLOCK_BYTES];
    const struct tar_entry entry = {.path = path,
                                    .kind = kind,
                                    .link = kind == TAR_LINK ? text : NULL,
                                    .size = kind == TAR_FILE ? strlen(text) : 0};
    tar_write_entry(&entry, tar);
    if (kind == TAR_FILE) {
        buf_append_text(tar, text);
        buf_append(tar, zeros, tar_pad(strlen(text)));
    }
}

static inline void testing_add_label(struct buf *tar, uint64_t entries, uint64_t bytes)
{
    const struct label label = {.name = "test", .entries = entries, .bytes = bytes};
    struct buf text = {0};
    label_write(&label, &text);
    testing_add(tar, TAR_FILE, LABEL_NAME, buf_text(&text));
    buf_fini(&text);
}

// Ends the archive and compresses it; the tar is freed.
static inline void testing_compress(struct buf *tar, struct buf *archive)
{
    static const char zeros[TAR_END_BYTES];
    buf_append(tar, zeros, sizeof zeros);
    assert_int_equal(codec_compress(CODEC_ZSTD, buf_bytes(tar), archive), WEFT_OK);
    buf_fini(tar);
}

static inline void testing_write(const char *path, const struct buf *bytes)
{
    int fd;
    assert_int_equal(file_create(path, &fd), WEFT_OK);
    assert_int_equal(file_write_at(fd, path, bytes->data, bytes->size, 0), WEFT_OK);
    file_close(fd);
}

#endif
