// Reading names.

#include "store/hdfs/url.h"

static const char scheme[] = "hdfs://";

bool hdfs_is_url(const char *text)
{
    return strncmp(text, "hdfs:", 5) == 0;
}

weft_bytes hdfs_url_authority(const char *text)
{
    const size_t head = sizeof scheme - 1;
    if (strncmp(text, scheme, head) != 0)
        return (weft_bytes){0};
    return (weft_bytes){text + head, strcspn(text + head, "/")};
}

void hdfs_url_append_at(const char *text, const char *authority, struct buf *url)
{
    const weft_bytes old = hdfs_url_authority(text);
    buf_append_text(url, scheme);
    buf_append_text(url, authority);
    buf_append_text(url, old.data ? (const char *)old.data + old.size : text);
}

// Appends the names of `from` one by one. False: too long, or above the root.
static bool clean_path(const char *from, char path[HDFS_PATH_BYTES])
{
    size_t size = 0;
    while (*from) {
        const size_t length = strcspn(from, "/");
        if (length == 2 && memcmp(from, "..", 2) == 0) {
            while (size > 0 && path[--size] != '/')
                ;
        } else if (length > 0 && !(length == 1 && *from == '.')) {
            if (size + length + 2 > HDFS_PATH_BYTES)
                return false;
            path[size++] = '/';
            memcpy(path + size, from, length);
            size += length;
        }
        from += length + (from[length] == '/');
    }
    if (size == 0)
        path[size++] = '/';
    path[size] = 0;
    return true;
}

weft_err hdfs_url_read(const char *text, struct hdfs_url *url)
{
    const char *from = text + sizeof scheme - 1;
    if (strncmp(text, scheme, sizeof scheme - 1) != 0)
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%.300s does not name a file in HDFS\n  try: hdfs://HOST:PORT/path, or "
                       "hdfs:///path with HADOOP_CONF_DIR set",
                       text);
    const size_t length = strcspn(from, "/");
    if (length >= sizeof url->authority || memchr(from, '@', length))
        return err_set(WEFT_INVALID_ARGUMENT,
                       "%.300s names no host\n  try: hdfs://HOST:PORT/path; users are named by "
                       "HADOOP_USER_NAME",
                       text);
    memcpy(url->authority, from, length);
    url->authority[length] = 0;
    if (!clean_path(from + length, url->path))
        return err_set(WEFT_INVALID_ARGUMENT, "%.300s... is too long a path", text);
    return WEFT_OK;
}
