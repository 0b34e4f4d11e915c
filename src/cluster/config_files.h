// config_files: a file for every member of a cluster with its identity.
//
//   config_map_0.sh    export TF_CONFIG='{...}'     to be sourced by a shell
//   config_map_0.json  {...}                        TF_CONFIG by itself
//   config_map_0.env   TF_CONFIG={...}              a line per variable, for docker --env-file
//
// Either all of them are there in the end or, when something is in the way, none was touched.
#ifndef CLUSTER_CONFIG_FILES_H
#define CLUSTER_CONFIG_FILES_H

#include "cluster/spec.h"

enum config_format { CONFIG_SH, CONFIG_JSON, CONFIG_ENV };

struct config_options {
    const char *directory;  // made if it is missing; NULL: the current one
    enum config_format format;
    bool force;      // replace files that hold something else
    bool keeps_gpu;  // do not set CUDA_VISIBLE_DEVICES=-1 (sh, env)
};

enum config_change { CONFIG_NEW, CONFIG_SAME, CONFIG_REPLACED };

struct config_file {
    const char *role;                     // the spec's
    const struct cluster_member *member;  // likewise
    char *path;
    char *temporary;  // while it is written
    enum config_change change;
};

struct config_files {
    VEC(struct config_file) items;  // in the order of the spec
};

void config_files_fini(struct config_files *files);

// "sh", "json" or "env"; false for anything else.
bool config_read_format(const char *text, enum config_format *format);

// Appends the text of one member's file. INVALID_ARGUMENT when it is a variable larger than what the
// kernel passes on to a program.
MUST_CHECK weft_err config_append(struct buf *buf, const struct cluster_spec *spec,
                                  const char *role, uint32_t index,
                                  const struct config_options *options);

// Writes all files, and lists them in `files`, which the spec has to outlive. ALREADY_EXISTS names the
// first file that holds something else. A file that holds just this is left alone.
MUST_CHECK weft_err config_files_write(struct config_files *files, const struct cluster_spec *spec,
                                       const struct config_options *options);

#endif
