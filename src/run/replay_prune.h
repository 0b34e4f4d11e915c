// Notes for replays do not stay forever: a process that writes one removes the old ones.
#ifndef RUN_REPLAY_PRUNE_H
#define RUN_REPLAY_PRUNE_H

#include "base/err.h"

#define REPLAY_NOTE_SUFFIX ".json"      // ID.json: the note
#define REPLAY_RECORD_SUFFIX ".record"  // ID.record: its record, if a replay has left it

enum {
    REPLAY_NOTES_MAX = 100,
    REPLAY_NOTE_DAYS = 30,
};

// Whether the text can be the ID of a note: hexadecimal digits, fewer than REPLAY_ID_BYTES.
bool replay_is_id(const char *text, size_t size);

// Removes, of the notes in a directory, all but the newest REPLAY_NOTES_MAX, and those that were
// REPLAY_NOTE_DAYS old when the one at hand was written; their records as well. Other files are left alone.
// Failures are not reported.
void replay_prune(const char *directory, int64_t written_ns);

#endif
