// Files that we do not read, known by their first bytes, or by their name if they are not text.
// They are refused by name, with the command that unpacks them. Read as text they would be counted
// as words, wrongly.

#include "base/text.h"
#include "store/codec/codec_state.h"
#include "sys/file/file.h"

struct foreign {
    const char *begin;
    size_t size;
    const char *name;
    const char *command;  // that unpacks it to standard output
};

#define BEGINS(text) text, sizeof(text) - 1

static const struct foreign known[] = {
    {BEGINS("PK\3\4"), "a zip archive", "unzip -p"},
    {BEGINS("PK\5\6"), "an empty zip archive", "unzip -p"},
    {BEGINS("7z\xbc\xaf\x27\x1c"), "a 7z archive", "7z x -so"},
    {BEGINS("Rar!\x1a\7"), "a rar archive", "unrar p -inul"},
    {BEGINS("\x1f\x9d"), "compressed by compress (.Z)", "zcat"},
    {BEGINS("\x1f\xa0"), "compressed by an old gzip (.z)", "zcat"},
    {BEGINS("LZIP\1"), "compressed by lzip", "lzip -dc"},
    {BEGINS("\x89LZO\0\r\n\x1a\n"), "compressed by lzop", "lzop -dc"},
    {BEGINS("\xff\6\0\0sNaPpY"), "in the framed format of snappy", "snzip -dc"},
    {BEGINS("!<arch>\n"), "an ar archive", "ar p"},
    {BEGINS("MSCF\0\0\0\0"), "a cab archive", "cabextract -qp"},
    {BEGINS("SEQ\6"), "a SequenceFile of Hadoop", "hadoop fs -text"},
    {BEGINS("Obj\1"), "in the format of Avro", "hadoop fs -text"},
    {BEGINS("PAR1\x15"), "in the format of Parquet", "parquet cat"},
};

static const struct foreign lzma = {NULL, 0, "compressed by lzma", "xz -dc"};

// Formats without a sign of their own: known by the name, if the beginning is not text.
static const struct {
    const char *suffix;
    struct foreign is;
} by_name[] = {
    {".br", {NULL, 0, "compressed by brotli", "brotli -dc"}},
    {".snappy", {NULL, 0, "compressed by snappy, as Hadoop does it", "hadoop fs -text"}},
    {".lzo_deflate", {NULL, 0, "compressed by lzo, as Hadoop does it", "hadoop fs -text"}},
    {".zz", {NULL, 0, "compressed by zlib", "pigz -dc"}},
    {".zlib", {NULL, 0, "compressed by zlib", "pigz -dc"}},
    {".deflate", {NULL, 0, "compressed by deflate, as Hadoop does it", "hadoop fs -text"}},
};

// The header of an .lzma file has no magic: properties, a dictionary of 2^n or 2^n + 2^(n-1) bytes, and a plain
// size that is unknown or below 256 GiB.
static bool is_lzma(const unsigned char *data, size_t size)
{
    if (size < 13 || data[0] != 0x5d || data[1] != 0 || data[2] != 0)
        return false;
    const uint32_t dictionary = codec_load32(data + 1);
    const bool is_unknown =
        codec_load32(data + 5) == UINT32_MAX && codec_load32(data + 9) == UINT32_MAX;
    const bool is_small = codec_load32(data + 9) < 64;
    return (dictionary & 0xffff) == 0 && dictionary != 0 && (is_unknown || is_small);
}

static const struct foreign *find(const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (size >= known[i].size && memcmp(data, known[i].begin, known[i].size) == 0)
            return &known[i];
    return is_lzma(data, size) ? &lzma : NULL;
}

static bool foreign_sniff(const unsigned char *data, size_t size)
{
    return find(data, size) != NULL;
}

static weft_err refuse(const char *name, const struct foreign *foreign)
{
    // The list of a zip archive is at its end: unzip reads no pipe.
    if (strcmp(name, "-") == 0 && strcmp(foreign->command, "unzip -p") == 0)
        return err_set(WEFT_UNIMPLEMENTED,
                       "%s is %s, which is not read\n  try: funzip | weft run JOB - for its first "
                       "file, or unzip -p FILE.zip | weft run JOB -",
                       name, foreign->name);
    return err_set(WEFT_UNIMPLEMENTED, "%s is %s, which is not read\n  try: %s %s | weft run JOB -",
                   name, foreign->name, foreign->command, name);
}

static weft_err foreign_open(struct codec_reader *reader)
{
    unsigned char data[CODEC_SNIFF_BYTES];
    size_t got = 0;
    const weft_err err = store_read_at(reader->in.file, data, sizeof data, 0, &got);
    const struct foreign *foreign = err ? NULL : find(data, got);
    if (err)
        return err;
    return foreign ? refuse(reader->in.file->name, foreign)
                   : codec_is_damaged(reader, "it has changed since it was looked at");
}

bool codec_is_tar(const void *data, size_t size)
{
    enum { MAGIC_OFFSET = 257 };
    return size >= MAGIC_OFFSET + 5 && memcmp((const char *)data + MAGIC_OFFSET, "ustar", 5) == 0;
}

weft_err codec_refuse_tar(const char *name)
{
    return err_set(WEFT_UNIMPLEMENTED,
                   "%s is a tar archive, which is not read\n  try: tar -xf %s, and weft run JOB on "
                   "the unpacked files; or tar -xOf %s | weft run JOB -",
                   name, name, name);
}

static void foreign_close(struct codec_reader *reader)
{
    (void)reader;
}

static weft_err foreign_decode(struct codec_reader *reader, struct codec_room *room)
{
    (void)room;
    return codec_is_damaged(reader, "it cannot be read");
}

static bool is_text(const char *data, size_t size)
{
    for (const char *at = data, *end = data + size; at < end;) {
        const size_t length = text_utf8_length(at, end);
        if (!*at || ((unsigned char)*at < 0x20 && !strchr("\t\n\v\f\r", *at)))
            return false;
        // A letter that is cut off at the end is none of its faults.
        if (length == 0)
            return end - at < 4 && size > 16;
        at += length;
    }
    return true;
}

weft_err codec_refuse_by_name(const char *path)
{
    char front[512];
    size_t got = 0, length = strlen(path);
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++) {
        const size_t size = strlen(by_name[i].suffix);
        int fd;
        if (length < size || strcmp(path + length - size, by_name[i].suffix) != 0)
            continue;
        weft_err err = file_open(path, &fd);
        if (err)
            return err;
        err = file_read_at(fd, path, front, sizeof front, 0, &got);
        file_close(fd);
        if (err)
            return err;
        const bool is_known = codec_sniff(front, got) != CODEC_NONE;
        return is_known || is_text(front, got) ? WEFT_OK : refuse(path, &by_name[i].is);
    }
    return WEFT_OK;
}

const struct codec_format codec_format_foreign = {
    .name = "foreign",
    .suffix = "",
    .test_command = "file",
    .sniff = foreign_sniff,
    .front = {foreign_open, foreign_close, foreign_decode},
};
