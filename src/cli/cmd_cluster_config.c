// weft cluster config CLUSTER.json: writes the description of the cluster and of each member to
// files.

#include "cli/cli.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/args.h"
#include "cluster/address.h"
#include "cluster/config_files.h"
#include "sys/file/file.h"

enum {
    OPTION_DIRECTORY = 1,
    OPTION_FORMAT,
    OPTION_ROLE,
    OPTION_FORCE,
    OPTION_GPU,
    OPTION_QUIET,
    OPTION_HELP,
};

static const struct args_option options_table_config[] = {
    {OPTION_DIRECTORY, 'd', "directory", "DIR", "where the files go; created if missing"},
    {OPTION_FORMAT, 0, "format", "FORMAT",
     "sh: to be sourced by a shell (default); json: TF_CONFIG by itself; env: a line per variable, "
     "as docker --env-file reads them"},
    {OPTION_ROLE, 0, "role", "ROLE=N",
     "instead of a cluster file: N members of a role on localhost, ports from 2222 on; or "
     "ROLE=ADDRESS,... where they are"},
    {OPTION_FORCE, 0, "force", NULL, "replace files that have other content"},
    {OPTION_GPU, 0, "gpu", NULL, "let the members see GPUs: no CUDA_VISIBLE_DEVICES=-1"},
    {OPTION_QUIET, 'q', "quiet", NULL, "only errors"},
    {OPTION_HELP, 'h', "help", NULL, "this help"},
    {0},
};

void help_format_cluster_config(struct buf *buf)
{
    buf_append_text(
        buf,
        "Writes a file for every member of a cluster, which sets TF_CONFIG: all the members, and\n"
        "which of them this one is.\n"
        "\n"
        "  weft cluster config cluster.json                config_ROLE_INDEX.sh, here\n"
        "  . ./config_map_0.sh && ./count                  be that member, in a shell of its own\n"
        "  weft cluster config cluster.json -d config/     in a directory\n"
        "  weft cluster config --format env cluster.json   for docker run --env-file\n"
        "  weft cluster config --role ps=1 --role worker=2   no file: three members, all here\n"
        "\n"
        "Usage: weft cluster config [options] CLUSTER.json\n"
        "       weft cluster config [options] --role ROLE=N...\n"
        "\n"
        "CLUSTER.json has the addresses of each role's members, or is a whole TF_CONFIG:\n"
        "  {\"files\": [\"localhost:2222\"], \"map\": [\"host1:2222\", \"host2:2222\"]}\n"
        "- is standard input. An address without a port means port 2222.\n"
        "\n"
        "Options:\n");
    args_format_help(buf, options_table_config, NULL);
    buf_append_text(
        buf,
        "\n"
        "An existing file with the same content is kept; if it has other content, nothing is written.\n"
        "Exit: 0 done, 2 wrong usage or a wrong description, 4 not found, 5 refused (exists, no\n"
        "permission).\n");
}

struct request {
    const char *path;  // NULL: roles were given as options
    struct cluster_spec spec;
    struct config_options options;
    bool is_quiet, wants_help;
};

static weft_err read_option(struct request *request, int id, const char *text)
{
    switch (id) {
    case OPTION_DIRECTORY:
        request->options.directory = *text ? text : ".";
        return WEFT_OK;
    case OPTION_FORMAT:
        if (config_read_format(text, &request->options.format))
            return WEFT_OK;
        return err_set(WEFT_INVALID_ARGUMENT,
                       "there is no format %s\n  try: --format sh, json or env", text);
    case OPTION_ROLE:
        return err_wrap(cluster_spec_add_flag(&request->spec, text), "--role");
    case OPTION_FORCE:
        request->options.force = true;
        return WEFT_OK;
    case OPTION_GPU:
        request->options.keeps_gpu = true;
        return WEFT_OK;
    case OPTION_QUIET:
        request->is_quiet = true;
        return WEFT_OK;
    default:
        request->wants_help = true;
        return WEFT_OK;
    }
}

static weft_err read_words(struct request *request, char *const *words, size_t count)
{
    struct args_reader reader;
    struct args_item item;
    weft_err err;
    args_start(&reader, words, count, options_table_config);
    while (!(err = args_next(&reader, &item)) && item.kind != ARGS_END) {
        if (item.kind == ARGS_OPTION)
            err = read_option(request, item.option->id, item.text);
        else if (request->path)
            err = err_set(WEFT_INVALID_ARGUMENT, "one cluster file at a time, not both %s and %s",
                          request->path, item.text);
        else
            request->path = item.text;
        if (err)
            break;
    }
    return err;
}

static weft_err read_cluster(struct request *request)
{
    const bool has_roles = request->spec.roles.count > 0;
    if (request->path && has_roles)
        return err_set(WEFT_INVALID_ARGUMENT, "the cluster is described twice: by %s and by --role",
                       request->path);
    if (request->path)
        return cluster_spec_load(&request->spec, request->path);
    if (!has_roles)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "no cluster is described\n"
                       "  try: weft cluster config CLUSTER.json, or --role worker=2");
    const weft_err err =
        cluster_spec_assign_addresses(&request->spec, "localhost", ADDRESS_PORT_DEFAULT);
    return err ? err : cluster_spec_check(&request->spec);
}

// A line for each file: its name, its member, the member's address, and whether it was written.
static int report(const struct config_files *files, const struct request *request)
{
    static const char *const words[] = {"written", "unchanged", "replaced"};
    struct buf text = {0}, talk = {0};
    for (size_t i = 0; i < files->items.count; i++) {
        const struct config_file *file = &files->items.items[i];
        buf_format(&text, "%s\t/%s/%" PRIu32 "\t", file->path, file->role, file->member->index);
        address_append(&text, file->member->host, file->member->port);
        buf_format(&text, "\t%s\n", words[file->change]);
    }
    if (request->options.format == CONFIG_SH && files->items.count > 0) {
        const char *path = files->items.items[0].path;
        const char *dot = strchr(path, '/') ? "" : "./";
        buf_format(&talk, "weft: in a shell for each member: . %s%s, then start its program\n", dot,
                   path);
    }
    const int exit_code = cli_print(&text);
    // The advice is not important: a closed standard error is not a failure.
    if (!exit_code && file_write(STDERR_FILENO, "standard error", talk.data, talk.size))
        err_clear();
    buf_fini(&talk);
    return exit_code;
}

int cmd_cluster_config(char *const *words, size_t count)
{
    struct request request = {0};
    struct config_files files = {0};
    int exit_code = 0;
    weft_err err = read_words(&request, words, count);
    if (!err && request.wants_help) {
        cluster_spec_fini(&request.spec);
        return cmd_help((char *const[]){"cluster", "config"}, 2);
    }
    if (!err)
        err = read_cluster(&request);
    if (!err)
        err = config_files_write(&files, &request.spec, &request.options);
    if (err)
        exit_code = cli_fail(err, false);
    else if (!request.is_quiet)
        exit_code = report(&files, &request);
    config_files_fini(&files);
    cluster_spec_fini(&request.spec);
    return exit_code;
}
