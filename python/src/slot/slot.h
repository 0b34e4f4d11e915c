// slot: a slot's Python process, from the inside. The engine (src/code/python) sends frames, calls
// mapfn and reducefn are made here, and pairs go back.
//
// A frame is its size (4 bytes), its kind (1 byte) and that many bytes. All numbers are
// little-endian.
//
//   from the engine
//   'J' the job               JSON, for python/weft/code.py; the first frame
//   'M' memory                u64 bytes for the table; 0: the default; u8 whether 'A' frames are wanted
//   'B' begin an attempt      u8 phase (0 map, 1 reduce), u8 output (0 pairs, 1 text, 2 typed pairs; 3 and
//                             4 as 1 and 2, only to see whether it fails), u8 holds (sums stay here until 'S': 1 all
//                             together, 2 those of the attempt apart until it has ended well)
//   'I' the input at hand     its name
//   'H' a header              the names of its columns: u32 size, bytes, ...
//   'D' records               u64 offset, u8 cut, u8 delimiter, bytes
//   'R' groups to reduce      items: 'k' u32 key; 'v' u32 value; 'i' i64; 'd' double; 'e' end of group
//   'E' end of the attempt    answered by 'E'
//   'S' send held results     sums of attempts that have ended well; answered by 'S'. May follow a failure
//   'V' which group it is at  answered by 'V'
//
//   to the engine
//   'N' sums                  u32 key size, i64, key
//   'G' floats to be summed   u32 key size, double, key
//   'P' pairs                 u32 key size, u32 value size, key, value: as codec.h encodes them
//   'K', 'Q' held             as 'N' and 'P', of attempts that have ended well before the one at hand
//   'T' output                the same as text; value size UINT32_MAX: none
//   'W' output                the same, encoded: typed pairs as they are written to a file
//   'F' failure               u64 offset (UINT64_MAX: none), text. The attempt has failed
//   'L' failure               text. The script cannot be used: trying again cannot help
//   'A' at work               the name of the function that is called now, a zero, the key, for people; or
//                             nothing: none is called any more
//   'E' end of the attempt
//   'S' all held results are sent
//   'V' the key at hand       text for people, or nothing
#ifndef PYTHON_SLOT_H
#define PYTHON_SLOT_H

#include "codec.h"
#include "fold.h"

enum slot_kind { SLOT_MAP_ONLY, SLOT_SUM, SLOT_COUNT, SLOT_FOLD, SLOT_REDUCE };
enum slot_output {
    SLOT_OUT_PAIRS,
    SLOT_OUT_TEXT,
    SLOT_OUT_TYPED,
    SLOT_OUT_NO_TEXT,
    SLOT_OUT_NOT_TYPED
};

enum slot_holds { SLOT_HOLDS_NOT, SLOT_HOLDS_MIXED, SLOT_HOLDS_APART };

enum slot_cut {
    SLOT_CUT_LINES,   // at the delimiter
    SLOT_CUT_WHOLE,   // one record
    SLOT_CUT_CHUNKS,  // whole lines, as many at a time as are fast
    SLOT_CUT_FRAMED,  // u64 offset, u32 size, bytes, ...
};

struct slot {
    // the job, borrowed from the call of serve()
    int in, out;
    enum slot_kind kind;
    PyObject *map, *reduce, *fold, *convert, *fail;
    int wants_name;   // mapfn(name, record)
    int passes_emit;  // mapfn(record, emit)
    int is_bytes;     // records are bytes

    // the attempt
    enum slot_output output;
    bool is_reducing, has_failed;
    enum slot_holds holds;
    PyObject *name;     // of the input
    PyObject *header;   // tuple of column names, or None
    PyObject *record;   // at hand
    uint64_t offset;    // of it
    const char *phase;  // what runs: "mapfn", "reducefn", "fold"
    PyObject *key;      // of the group at hand
    bool is_pickled;    // and how it came
    PyObject *values;

    // emit() by several threads
    bool is_mapping;  // mapfn runs, or its generator
    bool is_putting;  // a thread is taking a pair
    unsigned long putter;

    // the last report of a call of user code
    bool reports, is_at_work;
    const char *reported;  // the function
    uint64_t reported_ns;

    // frames
    char *frame;
    size_t frame_capacity, frame_size;
    char frame_kind;
    struct out sums, floats, pairs, held_sums, held_pairs, scratch;
    struct fold table;  // of the attempt
    struct fold held;   // of attempts that have ended well; of a mixed one, too
    struct fold *into;  // the one of the two that the attempt at hand adds to
    PyObject *groups;   // of SLOT_FOLD: encoded key -> list of values
    PyObject *one, *emit;
    bool counts_words;  // mapfn is weft.words, and records are parts of lines of text
};

// ---- frames (slot.c)

// Begins a frame in an empty buffer, and sends it. False with an exception set.
bool slot_begin_frame(struct out *out, char kind);
bool slot_send(struct slot *slot, struct out *out);
bool slot_send_when_full(struct slot *slot, struct out *out);

// Appends one pair to the frame of its kind, and sends it when it is large.
bool slot_put_pair(struct slot *slot, PyObject *key, PyObject *value);

// Called when user code has returned: a process that it has forked does not come back here, but ends.
void slot_end_forked(void);

// Reports that user code is called for one more record or key; that it has returned from the last one. For
// --record-timeout, and nothing otherwise.
bool slot_report_call(struct slot *slot);
bool slot_report_rest(struct slot *slot);

// ---- map (slot_map.c)

// Calls mapfn for all records of the frame at hand. False: an exception is set.
bool slot_map_frame(struct slot *slot);

// Sends the pairs of the attempt; sums too, unless they are to be held. False: an exception is set.
bool slot_flush(struct slot *slot);

// Sends the held results of attempts that have ended. False: an exception is set.
bool slot_send_held(struct slot *slot);

// Takes one pair of the attempt. False: an exception is set.
bool slot_put_now(struct slot *slot, PyObject *key, PyObject *value);

// Adds to the sum of an encoded key. False: an exception is set.
bool slot_add_number(struct slot *slot, const char *key, size_t size, int64_t number);

// ---- emit (slot_emit.c)

// As slot_put_now, where threads of mapfn may emit at the same time: it waits for them.
bool slot_put_alone(struct slot *slot, PyObject *key, PyObject *value);

// mapfn has returned: threads of it that still run emit no more.
void slot_end_mapping(struct slot *slot);

// The function emit(key, value) of the module.
PyObject *slot_py_emit(PyObject *self, PyObject *const *args, Py_ssize_t count);

// ---- words (slot_words.c)

// Counts the words of a text. False: an exception is set.
bool slot_count_words(struct slot *slot, const char *data, size_t size);

// words(text) -> list of its words: a function of the module.
PyObject *slot_py_words(PyObject *self, PyObject *text);

// Where emit() puts its pairs: the process has one.
extern struct slot *slot_current;

// ---- reduce (slot_reduce.c)

bool slot_reduce_frame(struct slot *slot);

#endif
