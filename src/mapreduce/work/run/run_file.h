// Runs: sorted pairs on disk, which do not fit in memory. A spill file belongs to one slot and
// holds its runs one after the other. It has no name, so that no file is left however the process
// ends. If runs are to outlive the process, the file has a name, and indexes among the runs
// (run_index.h).
//
// A run is a sequence of segments, one per range of keys, each a sequence of blocks. Every block is
// checksummed; a flipped bit or a cut file is DATA_LOSS with file, offset and the expected value.
// The layout is drawn in run_file.c. Thread: a writer belongs to one slot; several readers may read
// one spill file at once (pread).
#ifndef MAPREDUCE_WORK_RUN_RUN_FILE_H
#define MAPREDUCE_WORK_RUN_RUN_FILE_H

#include "base/err.h"
#include "mapreduce/work/sort/pair.h"

struct spill {
    int fd;
    uint64_t size;    // where the next run begins
    char *directory;  // for error sentences; when it has a name, the path of the file
    bool has_name;
    uint32_t number;  // of map output that others made; 0: it is our own
};

// One range of one run.
struct run_segment {
    uint64_t offset, size, pair_count;
};

struct run {
    const struct spill *spill;
    struct run_segment *segments;  // range_count of them, owned by the run
    uint32_t range_count;
    uint64_t size, pair_count;
    uint32_t level;      // 0: spilled; else how often its pairs were merged into a larger run
    size_t block_bytes;  // what a reader's buffer will need, unless a pair is larger
};

// Opens a nameless file in `directory` (O_TMPFILE, else made and unlinked).
MUST_CHECK weft_err spill_open(struct spill *spill, const char *directory);
// Makes a file that must not be there yet, ALREADY_EXISTS; or opens one for reading.
MUST_CHECK weft_err spill_create_named(struct spill *spill, const char *path);
MUST_CHECK weft_err spill_open_named(struct spill *spill, const char *path);
void spill_close(struct spill *spill);

// Appends bytes; a full disk is RESOURCE_EXHAUSTED with what to do.
MUST_CHECK weft_err spill_append(struct spill *spill, const void *data, size_t size);

struct run_writer;

// Starts a run at the end of the spill file. The writer's memory is twice `block_bytes` (at most
// 1 GiB), whatever the size of a pair: one that is larger goes to the file from where it lies. NULL on
// failure.
struct run_writer *run_writer_new(struct spill *spill, uint32_t range_count, size_t block_bytes);

// Ranges are begun in increasing order; ranges left out are empty.
MUST_CHECK weft_err run_writer_begin_range(struct run_writer *writer, uint32_t range);

// Adds a pair; within a range they come in the order of pair.h. Keys and values may have up to
// 4 GiB - 1. A full disk is RESOURCE_EXHAUSTED with the directory.
MUST_CHECK weft_err run_writer_add(struct run_writer *writer, const struct pair *pair);

// Writes the rest and describes the run, which the caller frees with run_fini. Frees the writer,
// also on failure.
MUST_CHECK weft_err run_writer_finish(struct run_writer *writer, struct run *run);

// Frees the writer; the next run overwrites its bytes. NULL is fine.
void run_writer_cancel(struct run_writer *writer);
void run_fini(struct run *run);

// Gives the disk space of a run back; it is not read again. Then frees it.
void run_release(struct run *run);

// Reads every block of a run and compares its checksum; no pair is looked at.
MUST_CHECK weft_err run_check_blocks(const struct run *run);

struct run_reader;

// Reads one range of a run, block by block. Its memory is block_bytes, while a larger pair is
// looked at as much as that pair has. NULL on failure.
struct run_reader *run_reader_new(const struct run *run, uint32_t range,
                                  const struct key_order *order);
void run_reader_free(struct run_reader *reader);

// The next pair into *pair, its bytes borrowed until the next call; *has_pair = false at the end.
MUST_CHECK weft_err run_reader_next(struct run_reader *reader, struct pair *pair, bool *has_pair);

// The number of the map output that this thread has last found to be damaged, once; 0: none.
uint32_t run_take_damaged(void);

#endif
