// Finding and reading inputs.

#include "store/hdfs/input.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/vec.h"
#include "store/hdfs/glob.h"
#include "store/hdfs/reader.h"
#include "store/hdfs/url.h"

// A job waits for a name node that restarts.
enum { PATIENCE_MS = 60000 };

static weft_err open_namenode(const char *text, struct hdfs_url *url, struct namenode **namenode)
{
    struct site site;
    *namenode = NULL;
    weft_err code = hdfs_url_read(text, url);
    if (code == WEFT_OK)
        code = site_find(url->authority, &site);
    return code == WEFT_OK ? namenode_new(&site, NULL, PATIENCE_MS, namenode) : code;
}

// ---- Reading ------------------------------------------------------------------------------------------------------

struct hdfs_input {
    struct namenode *namenode;
    struct reader *reader;
    char *path;
};

static weft_err input_read_at(struct store_file *file, void *data, size_t size, uint64_t offset,
                              size_t *got)
{
    return reader_read_at(file->hdfs->reader, data, size, offset, got);
}

static weft_err input_stat(struct store_file *file, struct file_stat *status)
{
    Hadoop__FileInfo *info = NULL;
    const weft_err code = namenode_stat(file->hdfs->namenode, file->hdfs->path, &info);
    if (code != WEFT_OK)
        return code;
    *status = (struct file_stat){.kind = info->status->type == 1 ? FILE_DIRECTORY : FILE_REGULAR,
                                 .size = info->status->length,
                                 .mtime_ns = (int64_t)(info->status->mtime_ms * 1000000),
                                 .inode = info->status->number,
                                 .name_count = 1};
    hdfs_free(info);
    return WEFT_OK;
}

static void input_free(struct hdfs_input *input)
{
    if (!input)
        return;
    struct err_kept kept;
    err_keep(&kept);
    reader_close(input->reader);
    namenode_free(input->namenode);
    free(input->path);
    free(input);
    err_put_back(&kept);
}

static void input_close(struct store_file *file)
{
    input_free(file->hdfs);
    file->hdfs = NULL;
}

static const struct store_calls input_calls = {input_read_at, input_stat, input_close};

weft_err hdfs_input_open(const char *text, const char *name, struct store_file *file)
{
    struct hdfs_input *input = calloc(1, sizeof *input);
    struct hdfs_url *url = malloc(sizeof *url);
    *file = (struct store_file){0};
    weft_err code = input && url ? open_namenode(text, url, &input->namenode)
                                 : err_no_memory("to read from HDFS");
    if (code == WEFT_OK && !(input->path = strdup(url->path)))
        code = err_no_memory("to read from HDFS");
    if (code == WEFT_OK)
        code = reader_open(input->namenode, input->path, &input->reader);
    free(url);
    if (code == WEFT_OK)
        *file = (struct store_file){.calls = &input_calls, .name = name, .fd = -1, .hdfs = input};
    else
        input_free(input);
    return code;
}

// ---- Finding ------------------------------------------------------------------------------------------------------

struct search {
    const struct hdfs_find_calls *calls;
    void *owner;
    struct namenode *namenode;
    const char *authority;
    bool takes_marked;  // the pattern says _ itself
};

struct entry {
    char *path;
    uint64_t size, number;
    int64_t mtime_ns;
    bool is_directory;
};

struct entries {
    VEC(struct entry) all;
};

static void entries_fini(struct entries *entries)
{
    for (size_t i = 0; i < entries->all.count; i++)
        free(entries->all.items[i].path);
    VEC_FINI(&entries->all);
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->path, ((const struct entry *)b)->path);
}

static void entries_sort(struct entries *entries)
{
    if (entries->all.count)
        qsort(entries->all.items, entries->all.count, sizeof *entries->all.items, compare_paths);
}

static weft_err entries_add(void *owner, const char *path, const Hadoop__FileStatus *status)
{
    struct entries *entries = owner;
    const struct entry one = {.path = strdup(path),
                              .size = status->length,
                              .number = status->number,
                              .mtime_ns = (int64_t)(status->mtime_ms * 1000000),
                              .is_directory = status->type == 1};
    if (one.path && VEC_PUSH(&entries->all, one))
        return WEFT_OK;
    free(one.path);
    return err_no_memory("for the names of the inputs");
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static weft_err give(const struct search *search, const struct entry *entry, bool is_marked)
{
    struct buf url = {0};
    buf_format(&url, "hdfs://%s%s", search->authority, entry->path);
    const struct hdfs_found found = {.url = buf_text(&url),
                                     .size = entry->size,
                                     .mtime_ns = entry->mtime_ns,
                                     .number = entry->number};
    weft_err code = url.has_failed ? err_no_memory("for the names of the inputs") : WEFT_OK;
    if (code == WEFT_OK)
        code = is_marked ? search->calls->take_marked(search->owner, found.url)
                         : search->calls->take(search->owner, &found);
    buf_fini(&url);
    return code;
}

// A directory on the way down.
struct level {
    const struct search *search;
    struct entries *files;
    const char *directory;
};

static weft_err gather(const struct search *search, const char *directory, struct entries *files);

static weft_err gather_entry(void *owner, const Hadoop__FileStatus *status)
{
    const struct level *level = owner;
    struct buf path = {0};
    const bool is_root = strcmp(level->directory, "/") == 0;
    const char first = status->path.len ? (char)status->path.data[0] : '.';
    if (first == '.')
        return WEFT_OK;
    buf_format(&path, "%s/%.*s", is_root ? "" : level->directory, (int)status->path.len,
               (const char *)status->path.data);
    weft_err code = path.has_failed ? err_no_memory("for the names of the inputs") : WEFT_OK;
    if (code == WEFT_OK && path.size >= HDFS_PATH_BYTES)
        code =
            err_set(WEFT_DATA_LOSS, "the name node lists directories in directories without end");
    if (code == WEFT_OK && status->type == 1 && first != '_')
        code = gather(level->search, buf_text(&path), level->files);
    else if (code == WEFT_OK)
        code = entries_add(level->files, buf_text(&path), status);
    buf_fini(&path);
    return code;
}

static weft_err gather(const struct search *search, const char *directory, struct entries *files)
{
    struct level level = {search, files, directory};
    return namenode_list(search->namenode, directory, gather_entry, &level);
}

// The files below, in the order that a directory of this machine has: by the bytes of their paths.
static weft_err take_directory(const struct search *search, const char *directory)
{
    struct entries files = {0};
    weft_err code = gather(search, directory, &files);
    entries_sort(&files);
    for (size_t i = 0; i < files.all.count && code == WEFT_OK; i++)
        code = give(search, &files.all.items[i], last_name(files.all.items[i].path)[0] == '_');
    entries_fini(&files);
    return code;
}

static weft_err take_matches(const struct search *search, const char *path)
{
    struct entries matches = {0};
    weft_err code = glob_visit(search->namenode, path, entries_add, &matches);
    entries_sort(&matches);
    for (size_t i = 0; i < matches.all.count && code == WEFT_OK; i++) {
        const struct entry *match = &matches.all.items[i];
        const bool is_marked = last_name(match->path)[0] == '_' && !search->takes_marked;
        code = match->is_directory && !is_marked ? take_directory(search, match->path)
                                                 : give(search, match, is_marked);
    }
    entries_fini(&matches);
    return code;
}

weft_err hdfs_find(const char *text, const struct hdfs_find_calls *calls, void *owner)
{
    struct hdfs_url *url = malloc(sizeof *url);
    struct search search = {.calls = calls, .owner = owner};
    weft_err code =
        url ? open_namenode(text, url, &search.namenode) : err_no_memory("to read from HDFS");
    if (code == WEFT_OK) {
        search.authority = url->authority;
        search.takes_marked = !glob_is_pattern(url->path) || last_name(url->path)[0] == '_';
        code = take_matches(&search, url->path);
    }
    namenode_free(search.namenode);
    free(url);
    return code;
}

static bool is_same_site(const char *a, const char *b)
{
    struct site first, second;
    if (strcmp(a, b) == 0)
        return true;
    const bool are_known =
        site_find(a, &first) == WEFT_OK && site_find(b, &second) == WEFT_OK && first.count > 0;
    err_clear();
    return are_known && second.count > 0 && first.nodes[0].rpc.port == second.nodes[0].rpc.port &&
           strcmp(first.nodes[0].rpc.host, second.nodes[0].rpc.host) == 0;
}

bool hdfs_lies_in(const char *url, const char *above)
{
    struct hdfs_url *urls = malloc(2 * sizeof *urls);
    bool is_in = false;
    if (urls && hdfs_url_read(url, &urls[0]) == WEFT_OK &&
        hdfs_url_read(above, &urls[1]) == WEFT_OK) {
        const size_t size = strlen(urls[1].path);
        const char next = strncmp(urls[0].path, urls[1].path, size) == 0 ? urls[0].path[size] : 'x';
        is_in = (next == 0 || next == '/') && is_same_site(urls[0].authority, urls[1].authority);
    }
    err_clear();
    free(urls);
    return is_in;
}

bool hdfs_is_pattern(const char *url)
{
    return glob_is_pattern(url);
}
