// The names of the files that journal_copy.c writes and journal_copy_read.c reads.
#ifndef STORE_JOURNAL_COPY_STATE_H
#define STORE_JOURNAL_COPY_STATE_H

#include "store/journal_copy.h"

enum {
    COPY_NAME_BYTES = 80,  // "journal-000001.00000000000000000000-00000000000000000000" and its end
    COPY_STRETCH_BYTES = 256 << 10,  // written again each second while it grows, so not too many
};

#define COPY_ALIVE "alive"

// Whether a name is that of a file of a journal.
bool copy_is_journal(const char *name);

void copy_format_name(char name[COPY_NAME_BYTES], const char *file, uint64_t begin, uint64_t end);

#endif
