// Python as an implementation of the port to user code.

#include "code/codes.h"
#include "code/python/interpreter.h"
#include "mapreduce/work/reduce/values.h"
#include "sys/process/nursery.h"

#include <stdio.h>

static struct nursery *the_nursery;

static void title(const weft_args *args, char title[CODE_TITLE_BYTES])
{
    const char *script = weft_option(args, PYTHON_SCRIPT, 0);
    const char *slash = script ? strrchr(script, '/') : NULL;
    snprintf(title, CODE_TITLE_BYTES, "%s", slash ? slash + 1 : script ? script : "python");
}

static enum code_word find_word(char letter)
{
    return letter == PYTHON_SCRIPT ? CODE_WORD_FILE : CODE_WORD_TEXT;
}

static bool counts(const weft_args *args)
{
    struct python_shape shape;
    return python_read_shape(args, &shape) == WEFT_OK && !shape.is_typed &&
           (shape.kind == PYTHON_SUM || shape.kind == PYTHON_COUNT);
}

static bool has_lasting_inputs(const weft_args *args)
{
    return !weft_option(args, PYTHON_SOURCE, 0);
}

static const char *values_from(const weft_args *args)
{
    return weft_option(args, PYTHON_VALUES, 0);
}

#define CUT(text)                                                                                  \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }
#define INT_CUT(length, first) CUT("\xFA" length first)

// Keys are mostly words, names, numbers of items or tuples of these. As python/src/slot/codec.h writes them.
static bool cut(size_t i, weft_bytes *key)
{
    static const weft_bytes cuts[] = {
        CUT("3"),
        CUT("A"),
        CUT("D"),
        CUT("J"),
        CUT("P"),
        CUT("T"),
        CUT("a"),
        CUT("c"),
        CUT("d"),
        CUT("f"),
        CUT("h"),
        CUT("m"),
        CUT("p"),
        CUT("s"),
        CUT("t"),
        CUT("w"),
        CUT("\xC3"),              // not ASCII
        CUT("\xF9"),              // not str
        INT_CUT("\x81", "\x10"),  // 16
        INT_CUT("\x81", "\x40"),  // 64
        INT_CUT("\x81", "\xA0"),  // 160
        INT_CUT("\x82", "\x02"),  // 512
        INT_CUT("\x82", "\x08"),  // 2,048
        INT_CUT("\x82", "\x20"),  // 8,192
        INT_CUT("\x82", "\x80"),  // 32,768
        INT_CUT("\x83", "\x04"),  // 262,144
        INT_CUT("\x83", "\x20"),  // 2,097,152
        INT_CUT("\x84", "\x02"),  // 33,554,432
        CUT("\xFB"),              // float
        CUT("\xFD"),              // tuples: of ints, of str
        CUT("\xFD\xF8\x6D"),      // "m"
    };
    if (i < sizeof cuts / sizeof *cuts)
        *key = cuts[i];
    return i < sizeof cuts / sizeof *cuts;
}

static weft_err start(void)
{
    the_nursery = nursery_new();
    return the_nursery ? WEFT_OK : WEFT_UNAVAILABLE;
}

static void stop(void)
{
    nursery_free(the_nursery);
    the_nursery = NULL;
}

static weft_err open(weft_task *task)
{
    struct interpreter *interpreter;
    const weft_err code = interpreter_new(task, the_nursery, &interpreter);
    if (code) {
        interpreter_free(interpreter);
        return code;
    }
    weft_task_set_state(task, interpreter);
    return WEFT_OK;
}

static weft_err begin(weft_task *task)
{
    interpreter_begin(weft_task_state(task), task);
    return WEFT_OK;
}

static weft_err end(weft_task *task)
{
    struct interpreter *interpreter = weft_task_state(task);
    const weft_err code = interpreter_end(interpreter);
    if (code && interpreter->is_final)
        task_fail_job(task, code);
    if (code && interpreter_rescue(interpreter))
        task_keep_held(task);
    return interpreter_failure(interpreter);
}

static weft_err flush(weft_task *task)
{
    return interpreter_flush(weft_task_state(task), task);
}

static void cancel(weft_task *task)
{
    interpreter_cancel(weft_task_state(task));
}

static void close(weft_task *task)
{
    interpreter_free(weft_task_state(task));
    weft_task_set_state(task, NULL);
}

const struct code code_python = {
    .name = "python",
    .number = 3,
    .is_outside = true,
    .loads_late = true,
    .frames_refusal = "a Python job does not read tfrecord\n  try: --format files",
    .job = &python_job,
    .title = title,
    .word = find_word,
    .counts = counts,
    .values_from = values_from,
    .name_there = python_name_there,
    .cut = cut,
    .find_here = python_find_here,
    .settle_words = python_settle_words,
    .free_here = python_free_here,
    .has_lasting_inputs = has_lasting_inputs,
    .debugger = "pdb",
    .capture = python_capture,
    .debug = python_debug,
    .outside_bytes = python_outside_bytes,
    .outside_bytes_min = PYTHON_BYTES_MIN,
    .start = start,
    .stop = stop,
    .open = open,
    .begin = begin,
    .end = end,
    .flush = flush,
    .cancel = cancel,
    .close = close,
};
