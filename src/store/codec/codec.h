// Codecs: compressed input read as if it were plain, and output compressed on its way out.
//
// A file's compression is known by its first bytes, never by its name. gzip (any number of
// members), zstd (any number of frames, skippable ones too), lz4 (frames), bzip2 and xz (any number of
// streams) are read from front to back. Two kinds can also be read from anywhere, because they say where
// their frames lie: bgzip (gzip members of at most 64 KiB with their size in the header) and seekable zstd
// (a table at the end); those have an index, and with it the file looks like a plain one of that size.
//
// A truncated or corrupt file is DATA_LOSS with its name, the offset in the compressed file, the
// error and the next thing to try; so is an index that does not match its frames, found when it is
// read. Files that we do not read are refused: a zstd window over 128 MiB is RESOURCE_EXHAUSTED, a
// zstd dictionary FAILED_PRECONDITION, lz4's legacy format and CODEC_FOREIGN UNIMPLEMENTED. Every
// reader's memory is bounded and does not grow with the file. Thread: a reader belongs to one
// thread; an index may be shared once it is open.
#ifndef STORE_CODEC_CODEC_H
#define STORE_CODEC_CODEC_H

#include "base/buf.h"
#include "store/store.h"

enum codec_kind {
    CODEC_NONE,
    CODEC_GZIP,
    CODEC_ZSTD,
    CODEC_LZ4,
    CODEC_BZIP2,
    CODEC_XZ,
    CODEC_FOREIGN,  // known, and not read: zip, 7z, lzma, snappy and others. A reader of it fails by name
    CODEC_KIND_COUNT
};

enum { CODEC_SNIFF_BYTES = 16 };  // enough to recognize each kind

// What data that begins so is compressed with; fewer bytes than CODEC_SNIFF_BYTES are all there are.
enum codec_kind codec_sniff(const void *data, size_t size);

// Refuses a file whose compression shows only in its name (brotli, Hadoop's snappy), if it is not
// text: UNIMPLEMENTED with the program that unpacks it.
MUST_CHECK weft_err codec_refuse_by_name(const char *path);

// Refuses a file that is named like a compressed one (.gz, .zst, ...) and is too short to be
// recognized: DATA_LOSS. An empty one is empty.
MUST_CHECK weft_err codec_refuse_cut(const char *path, uint64_t size);

// Whether data, the beginning of a file or of its plain text, is a tar archive; and the refusal, by
// name.
bool codec_is_tar(const void *data, size_t size);
weft_err codec_refuse_tar(const char *name);

// Whether a bgzip file lacks the empty block at its end by which a whole one is known. False of all others.
MUST_CHECK weft_err codec_lacks_end(struct store_file *file, uint64_t file_size, bool *lacks_end);

// "gzip", "zstd", "lz4", "bzip2", "xz", "none"; and back, for --compress. The end of a file's name: "", ".gz"...
const char *codec_name(enum codec_kind kind);
bool codec_find(const char *name, enum codec_kind *kind);
const char *codec_suffix(enum codec_kind kind);

// ---- reading

struct codec_index;

// Opens the index of a compressed file of that size. *index is NULL, without a failure, when the
// file has none and can only be read from the front. bgzip: one small read for each block of 64 KiB
// plain.
MUST_CHECK weft_err codec_index_open(struct store_file *file, uint64_t file_size,
                                     enum codec_kind kind, struct codec_index **index);
uint64_t codec_index_size(const struct codec_index *index);  // of the plain data

// Up to where in the compressed file a reader that stops at that plain offset reads, at most.
uint64_t codec_index_packed_end(const struct codec_index *index, uint64_t plain);
void codec_index_free(struct codec_index *index);  // NULL is fine

struct codec_reader;

// Reads the file from plain offset `from`. With an index it begins close to it; without one, all
// bytes before it are decoded and dropped. The file and the index stay the caller's, and open. NULL on
// failure.
struct codec_reader *codec_reader_new(struct store_file *file, uint64_t file_size,
                                      enum codec_kind kind, const struct codec_index *index,
                                      uint64_t from);
void codec_reader_free(struct codec_reader *reader);

// The next up to `size` plain bytes, fewer only at the end; *got says how many, also on failure. Only a
// read that comes to the end has checked the last frame. Larger reads are faster: plain bytes are decoded
// straight to where the caller wants them. After a failure it only fails.
MUST_CHECK weft_err codec_reader_read(struct codec_reader *reader, void *data, size_t size,
                                      size_t *got);

// How much memory its decoder has asked for so far: the window or dictionary that the file wants, for the most part.
// 0 of formats in which no file wants more than 8 MiB.
uint64_t codec_reader_memory(const struct codec_reader *reader);

// How many bytes of the compressed file it has taken, for progress.
uint64_t codec_reader_taken(const struct codec_reader *reader);

// ---- writing

// Appends the text as a frame (gzip member) of its own to `out`: a sequence of frames is a file.
// The same text always gives the same bytes (with the same version of the library). On failure `out` has
// the size it had. CODEC_NONE copies.
MUST_CHECK weft_err codec_compress(enum codec_kind kind, weft_bytes text, struct buf *out);

#endif
