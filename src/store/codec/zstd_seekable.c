// Seekable zstd: ordinary frames, and a table of their sizes in a skippable frame at the end.
//
//   u32 0x184D2A5E, u32 size of what follows
//   for each frame: u32 compressed size, u32 plain size, and u32 checksum if the table has them
//   u32 number of frames, u8 descriptor (bit 7: there are checksums), u32 0x8F92EAB1
//
// A table that does not add up to the file is none, and the file is read from its front, where nothing
// depends on it. Sizes that are wrong but add up are found by the reader (settle_point in codec.c). The
// checksums are not used: frames carry their own.

#include "store/codec/codec_state.h"
#include "sys/file/file.h"

#define TABLE_MAGIC UINT32_C(0x184D2A5E)
#define FOOTER_MAGIC UINT32_C(0x8F92EAB1)

enum {
    HEADER_BYTES = 8,
    FOOTER_BYTES = 9,
    FRAMES_MAX = 1 << 27,  // of the format
    HAS_CHECKSUMS = 0x80,
    RESERVED = 0x7c,
    ENTRIES_AT_ONCE = 4096,
    ENTRY_BYTES_MAX = 12,
};

struct table {
    uint64_t offset;  // of its frame
    uint32_t frame_count;
    size_t entry_size;
};

// False when the file does not end in a table.
static weft_err find_table(struct store_file *file, uint64_t file_size, struct table *table,
                           bool *is_table)
{
    unsigned char data[FOOTER_BYTES];
    size_t got;
    *is_table = false;
    if (file_size < HEADER_BYTES + FOOTER_BYTES)
        return WEFT_OK;
    weft_err err = store_read_at(file, data, FOOTER_BYTES, file_size - FOOTER_BYTES, &got);
    if (err || got < FOOTER_BYTES || codec_load32(data + 5) != FOOTER_MAGIC ||
        (data[4] & RESERVED) || codec_load32(data) > FRAMES_MAX)
        return err;
    table->frame_count = codec_load32(data);
    table->entry_size = data[4] & HAS_CHECKSUMS ? ENTRY_BYTES_MAX : 8;
    const uint64_t size = HEADER_BYTES + table->frame_count * table->entry_size + FOOTER_BYTES;
    if (size > file_size)
        return WEFT_OK;
    table->offset = file_size - size;
    err = store_read_at(file, data, HEADER_BYTES, table->offset, &got);
    *is_table = !err && got == HEADER_BYTES && codec_load32(data) == TABLE_MAGIC &&
                codec_load32(data + 4) == size - HEADER_BYTES;
    return err;
}

// Adds up the frames. *fits: each takes some room, and together they fill the file up to the table.
static weft_err read_entries(struct store_file *file, const struct table *table,
                             struct codec_index *index, bool *fits)
{
    struct codec_point point = {0};
    unsigned char data[ENTRIES_AT_ONCE * ENTRY_BYTES_MAX];
    const uint64_t begin = table->offset + HEADER_BYTES;
    for (size_t i = 0; i < table->frame_count; i++) {
        const size_t slot = i % ENTRIES_AT_ONCE, rest = table->frame_count - i;
        if (slot == 0) {
            const size_t count = rest < ENTRIES_AT_ONCE ? rest : ENTRIES_AT_ONCE;
            size_t got;
            const weft_err err = store_read_at(file, data, count * table->entry_size,
                                               begin + i * table->entry_size, &got);
            if (err)
                return err;
            if (got < count * table->entry_size)
                return err_set(WEFT_DATA_LOSS,
                               "%s became shorter while it was read"
                               "\n  try: run it again when nothing writes to the file",
                               file->name);
        }
        if (!codec_index_add(index, point, false))
            return err_no_memory("for an index of %s", file->name);
        const unsigned char *entry = data + slot * table->entry_size;
        *fits &= codec_load32(entry) > 0;
        point.packed += codec_load32(entry);
        point.plain += codec_load32(entry + 4);
    }
    *fits &= point.packed == table->offset;
    if (!codec_index_add(index, point, true))
        return err_no_memory("for an index of %s", file->name);
    return WEFT_OK;
}

weft_err codec_zstd_build_index(struct store_file *file, uint64_t file_size,
                                struct codec_index *index, bool *is_index)
{
    struct table table;
    const weft_err err = find_table(file, file_size, &table, is_index);
    if (err || !*is_index)
        return err;
    *is_index = table.frame_count > 0;
    return read_entries(file, &table, index, is_index);
}
