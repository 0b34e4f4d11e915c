// Properties of a file as words.

#include "hadoop/conf.h"

#include <stdio.h>

#include "wire/hadoop/conf.h"

static weft_err push_property(void *owner, weft_bytes name, weft_bytes value)
{
    struct streaming_list *words = owner;
    struct buf word = {0};
    buf_append(&word, name.data, name.size);
    buf_append_text(&word, "=");
    buf_append(&word, value.data, value.size);
    weft_err err = word.has_failed ? err_no_memory("for -conf") : streaming_push(words, "-D");
    if (!err)
        err = streaming_push(words, buf_text(&word));
    buf_fini(&word);
    return err;
}

weft_err streaming_read_conf(const char *path, weft_bytes text, struct streaming_list *words)
{
    struct buf named = {0};
    buf_format(&named, "-conf %s", path);
    const weft_err err = conf_read(buf_text(&named), text, push_property, words);
    buf_fini(&named);
    return err == WEFT_INVALID_ARGUMENT
               ? err_set(err, "%s\n  try: -D N=V on the command line", err_text())
               : err;
}
