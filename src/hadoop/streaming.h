// streaming: the words after `hadoop jar hadoop-streaming.jar`, understood as Hadoop 3 does, for
// `weft streaming`. Every option and every property is either understood or refused by its name.
//
//   words --streaming_parse--> struct streaming_options --streaming_spell_job--> words of command_job
//
// Properties (-D name=value) come in three kinds: those that change the result, which are in
// property.c or refused; those that cannot (memory, names, queues), which are accepted; and the
// scripts' own. All of them reach the commands as variables. Pure: the caller does the work on
// files. Thread: any, one owner.
#ifndef HADOOP_STREAMING_H
#define HADOOP_STREAMING_H

#include "base/args.h"
#include "base/err.h"

// NULL-terminated; grows by streaming_push.
struct streaming_list {
    char **items;
    size_t count, capacity;
};

struct streaming_property {
    char *name, *value;  // by its newer name
    char *given;         // in the user's spelling
};

enum streaming_input {
    STREAMING_LINES,       // TextInputFormat
    STREAMING_KEY_VALUES,  // KeyValueTextInputFormat: a line is key and value
    STREAMING_N_LINES,     // NLineInputFormat: a task for every N lines
};

enum streaming_codec { STREAMING_PLAIN, STREAMING_GZIP, STREAMING_ZSTD };

struct streaming_options {
    bool wants_help;  // nothing else was checked

    struct streaming_list inputs;       // paths and patterns, one per word, "file:" taken off
    struct streaming_list files;        // for the directory of the commands: PATH or PATH#NAME
    struct streaming_list archives;     // likewise, to be unpacked there
    struct streaming_list environment;  // -cmdenv: NAME=value
    struct streaming_list own;          // options of `weft run`, written long, each one word
    struct streaming_list notes;        // messages for the user, which are not errors
    char *output;
    struct streaming_property *properties;  // each name once, the last value
    size_t property_count, property_capacity;

    // Commands as given. NULL: pairs are passed on (for map: the offset of a line is its key).
    char *map, *combine, *reduce;
    bool is_aggregate;  // the built-in reducer, and combiner
    uint32_t reducers;  // 0: the output of map is the output

    enum streaming_input input;
    uint32_t lines_per_task;          // N_LINES
    bool has_keys;                    // the mapper gets the key of a record, too
    bool is_recursive;                // directories below input directories
    uint64_t block_bytes, split_min;  // 0: Hadoop's default

    // Texts below are borrowed from the properties.
    const char *map_separator;  // the separator in a mapper's line
    uint32_t map_key_fields;
    const char *reduce_input_separator;
    const char *reduce_separator;  // the separator in a reducer's line
    uint32_t reduce_key_fields;
    const char *output_separator;  // the separator between key and value in the output

    bool partitions_by_fields;      // KeyFieldBasedPartitioner
    const char *partition_options;  // "-k1,2"; "": the whole key
    bool compares_by_fields;        // KeyFieldBasedComparator
    const char *compare_options;    // "-k1,1 -k2,2nr"; ""
    const char *key_separator;      // between the fields of a key, for both

    bool ignores_exit_codes;
    bool is_lazy;  // no part without a line
    enum streaming_codec codec;
    uint32_t max_attempts;  // 0: not given

    char *room;  // of partition_options if it was not given
};

// Where -conf FILE stands in the words; `count`: nowhere. The caller replaces the two words by
// those of streaming_read_conf (conf.h), in front of all others: -D overrides files.
size_t streaming_find_conf(char *const *words, size_t count);

// Parses the words into an empty struct. `own` is the table of options of `weft run`, for words
// with two dashes that are not Hadoop's options; NULL: none. Wrong usage is INVALID_ARGUMENT. An
// option or property that Weft cannot support as Hadoop does is UNIMPLEMENTED, with its name and
// advice. Call streaming_fini in every case.
MUST_CHECK weft_err streaming_parse(struct streaming_options *options, char *const *words,
                                    size_t count, const struct args_option *own);
void streaming_fini(struct streaming_options *options);

// Appends a copy.
MUST_CHECK weft_err streaming_push(struct streaming_list *list, const char *text);
void streaming_drop(struct streaming_list *list);

// The value of a property by its newer name; NULL if it was not given, or is empty.
const char *streaming_get(const struct streaming_options *options, const char *name);

// Appends the job's own words (code/command/command.h), for args_parse_job, with the variables of
// its commands. `directory` is where the commands run, NULL: here.
MUST_CHECK weft_err streaming_spell_job(const struct streaming_options *options,
                                        const struct streaming_list *variables,
                                        const char *directory, struct streaming_list *words);

// Facts about a job that are not in its words.
struct streaming_facts {
    const char *user, *host;
    const char *directory;  // the base of relative file names: absolute
    size_t input_count;     // files
};

// The variables of the commands: those that Hadoop sets for a job, properties, then -cmdenv, in
// that order. Call it before the commands are changed.
MUST_CHECK weft_err streaming_list_variables(const struct streaming_options *options,
                                             const struct streaming_facts *facts,
                                             struct streaming_list *variables);

#endif
