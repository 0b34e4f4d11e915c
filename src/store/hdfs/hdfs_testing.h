// For tests: a name node and a data node of our own, with the faults that real ones do not produce on demand. Each connection is a process; what
// they know is in memory that they share with the test.
#ifndef STORE_HDFS_HDFS_TESTING_H
#define STORE_HDFS_HDFS_TESTING_H

#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "sys/net/tcp.h"
#include "wire/hadoop.pb-c.h"
#include "wire/hadoop/delimited.h"

enum {
    FAKE_FILES_MAX = 64,
    FAKE_BYTES_MAX = (1 << 20) + 4096,
    FAKE_NODES_MAX = 2,
    FAKE_SILENCE_MS = 20000,
    FAKE_HELLO_BYTES = 7,
    FAKE_MTIME_MS = 1234567,  // of every file
};

struct fake_file {
    char path[200];  // "": none
    char bytes[FAKE_BYTES_MAX];
    uint64_t size;
    uint32_t mode;
    uint64_t mtime_ms;
    bool is_directory;
};

struct fake {
    atomic_flag is_changing;
    struct fake_file files[FAKE_FILES_MAX];
    uint32_t uploads, renames;  // that have come
    uint64_t now_ms, step_ms;   // the clock, and how far each new file moves it
    // The faults, and how often each happens still.
    uint32_t cut_uploads;     // half of the bytes are kept, and the answer is that all is well
    uint32_t broken_uploads;  // the connection ends half-way, and the file looks complete
    uint32_t lost_renames;    // carried out, and the connection ends without an answer
    uint32_t full_uploads;    // refused by the quota
    uint32_t changed_reads;   // by HTTP: one byte is another one
    uint32_t live_nodes;      // that the name node knows
    uint32_t safe_calls;      // refused: the name node is in safe mode
    bool is_standby[FAKE_NODES_MAX];
    int32_t last_rename;  // the number of the call, and its name: for the retry cache
    char last_from[200];
    uint32_t calls[FAKE_NODES_MAX];
};

static struct fake *fake;
static struct {
    uint16_t rpc, web;
    pid_t servers[2];
} fake_nodes[FAKE_NODES_MAX];

// ---- Files --------------------------------------------------------------------------------------------------------

static struct fake_file *fake_find(const char *path)
{
    for (int i = 0; i < FAKE_FILES_MAX; i++)
        if (strcmp(fake->files[i].path, path) == 0)
            return &fake->files[i];
    return NULL;
}

// Several connections may add and remove files at the same time.
static void fake_lock(void)
{
    while (atomic_flag_test_and_set(&fake->is_changing))
        ;
}

static void fake_unlock(void)
{
    atomic_flag_clear(&fake->is_changing);
}

static bool fake_has_parent(const char *path)
{
    char parent[200];
    const size_t size = (size_t)(strrchr(path, '/') - path);
    snprintf(parent, sizeof parent, "%.*s", (int)(size ? size : 1), path);
    return fake_find(parent) != NULL;
}

// NULL: there is no directory for it.
static struct fake_file *fake_add_in(const char *path, bool needs_parent, bool is_directory,
                                     uint32_t mode)
{
    fake_lock();
    struct fake_file *file = needs_parent && !fake_has_parent(path) ? NULL : fake_find("");
    if (file) {
        file->size = 0;
        file->mode = mode;
        file->mtime_ms = FAKE_MTIME_MS + (fake->now_ms += fake->step_ms);
        file->is_directory = is_directory;
        snprintf(file->path, sizeof file->path, "%s", path);
    }
    fake_unlock();
    return file;
}

static struct fake_file *fake_add(const char *path, bool is_directory, uint32_t mode)
{
    struct fake_file *file = fake_add_in(path, false, is_directory, mode);
    if (!file)
        _exit(1);
    return file;
}

// The rest of a path below a directory; NULL: it is not below it.
static const char *fake_below(const char *path, const char *directory)
{
    const size_t size = strcmp(directory, "/") == 0 ? 0 : strlen(directory);
    return strncmp(path, directory, size) == 0 && path[size] == '/' ? path + size : NULL;
}

static bool fake_takes(uint32_t *faults)
{
    const bool is_now = *faults > 0;
    *faults -= is_now;
    return is_now;
}

// ---- The name node --------------------------------------------------------------------------------------------------

static void fake_receive(struct tcp *tcp, void *data, size_t size)
{
    if (tcp_receive(tcp, data, size) != WEFT_OK)
        _exit(0);
}

static void *fake_read(weft_bytes *from, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message;
    if (delimited_read(from, descriptor, &message) != WEFT_OK)
        _exit(1);
    return message;
}

static void fake_describe(const struct fake_file *file, Hadoop__FileStatus *status,
                          Hadoop__Permission *permission)
{
    hadoop__file_status__init(status);
    hadoop__permission__init(permission);
    const char *name = strrchr(file->path, '/') + 1;
    permission->mode = file->mode;
    status->permission = permission;
    status->has_type = status->has_length = status->has_path = status->has_mtime_ms = true;
    status->mtime_ms = file->mtime_ms;
    status->type = file->is_directory ? 1 : 2;
    status->length = file->size;
    status->path = (ProtobufCBinaryData){strlen(name), (uint8_t *)name};
}

static void fake_list(struct buf *out, const char *path)
{
    Hadoop__ListingAnswer answer = HADOOP__LISTING_ANSWER__INIT;
    Hadoop__Listing listing = HADOOP__LISTING__INIT;
    Hadoop__FileStatus statuses[FAKE_FILES_MAX], *entries[FAKE_FILES_MAX];
    Hadoop__Permission permissions[FAKE_FILES_MAX];
    for (int i = 0; i < FAKE_FILES_MAX; i++) {
        const char *rest = fake->files[i].path[0] ? fake_below(fake->files[i].path, path) : NULL;
        if (!rest || strchr(rest + 1, '/'))
            continue;
        fake_describe(&fake->files[i], &statuses[i], &permissions[i]);
        entries[listing.n_entries++] = &statuses[i];
    }
    listing.entries = entries;
    answer.listing = &listing;
    delimited_write(out, &answer.base);
}

// One block without a data node: its bytes come by HTTP.
static void fake_locate(struct buf *out, const struct fake_file *file)
{
    Hadoop__BlockLocations locations = HADOOP__BLOCK_LOCATIONS__INIT;
    Hadoop__LocatedBlocks located = HADOOP__LOCATED_BLOCKS__INIT;
    Hadoop__LocatedBlock one = HADOOP__LOCATED_BLOCK__INIT, *blocks[] = {&one};
    Hadoop__Block block = HADOOP__BLOCK__INIT;
    if (file) {
        block.pool = "p";
        block.has_size = one.has_offset = located.has_file_length = true;
        located.file_length = block.size = file->size;
        one.block = &block;
        located.blocks = blocks;
        located.n_blocks = file->size > 0;
        locations.located = &located;
    }
    delimited_write(out, &locations.base);
}

static bool fake_delete(const char *path)
{
    bool has_found = false;
    fake_lock();
    for (int i = 0; i < FAKE_FILES_MAX; i++) {
        struct fake_file *file = &fake->files[i];
        if (!file->path[0] || (strcmp(file->path, path) != 0 && !fake_below(file->path, path)))
            continue;
        file->path[0] = 0;
        has_found = true;
    }
    fake_unlock();
    return has_found;
}

// NULL, or the exception.
static const char *fake_rename(const Hadoop__Rename *rename, int32_t call)
{
    struct fake_file *to = fake_find(rename->to);
    if (fake->last_rename == call + 1 && strcmp(fake->last_from, rename->from) == 0)
        return NULL;  // the same one again
    if (!fake_find(rename->from))
        return "java.io.FileNotFoundException";
    if (to && !rename->overwrites)
        return "org.apache.hadoop.fs.FileAlreadyExistsException";
    if (to)
        to->path[0] = 0;
    for (int i = 0; i < FAKE_FILES_MAX; i++) {
        struct fake_file *file = &fake->files[i];
        char path[600];
        const bool is_it = strcmp(file->path, rename->from) == 0;
        if (!file->path[0] || (!is_it && !fake_below(file->path, rename->from)))
            continue;
        snprintf(path, sizeof path, "%s%s", rename->to, file->path + strlen(rename->from));
        snprintf(file->path, sizeof file->path, "%.199s", path);
    }
    fake->last_rename = call + 1;
    snprintf(fake->last_from, sizeof fake->last_from, "%s", rename->from);
    fake->renames++;
    if (fake_takes(&fake->lost_renames))
        _exit(0);
    return NULL;
}

// Calls that change nothing. False: it is another one.
static bool fake_tell(const char *method, weft_bytes *from, struct buf *out)
{
    if (strcmp(method, "getFileInfo") == 0) {
        const Hadoop__GetFileInfo *get = fake_read(from, &hadoop__get_file_info__descriptor);
        Hadoop__FileInfo info = HADOOP__FILE_INFO__INIT;
        Hadoop__FileStatus status;
        Hadoop__Permission permission;
        const struct fake_file *file = fake_find(get->path);
        if (file)
            fake_describe(file, info.status = &status, &permission);
        delimited_write(out, &info.base);
    } else if (strcmp(method, "getListing") == 0) {
        const Hadoop__GetListing *get = fake_read(from, &hadoop__get_listing__descriptor);
        fake_list(out, get->path);
    } else if (strcmp(method, "getBlockLocations") == 0) {
        const Hadoop__GetBlockLocations *get =
            fake_read(from, &hadoop__get_block_locations__descriptor);
        fake_locate(out, fake_find(get->path));
    } else {
        return false;
    }
    return true;
}

// NULL, or the exception.
static const char *fake_answer(const Hadoop__CallHeader *header, const char *method,
                               weft_bytes *from, struct buf *out)
{
    Hadoop__Done done = HADOOP__DONE__INIT;
    const char *exception = NULL;
    done.has_result = done.result = true;
    if (fake_tell(method, from, out))
        return NULL;
    if (fake_takes(&fake->safe_calls))
        return "org.apache.hadoop.hdfs.server.namenode.SafeModeException";
    if (strcmp(method, "mkdirs") == 0) {
        const Hadoop__MakeDirectories *make =
            fake_read(from, &hadoop__make_directories__descriptor);
        if (!fake_find(make->path))
            fake_add(make->path, true, make->masked->mode);
    } else if (strcmp(method, "delete") == 0) {
        const Hadoop__Delete *delete = fake_read(from, &hadoop__delete__descriptor);
        done.result = fake_delete(delete->path);
    } else if (strcmp(method, "setPermission") == 0) {
        const Hadoop__SetPermission *set = fake_read(from, &hadoop__set_permission__descriptor);
        if (fake_find(set->path))
            fake_find(set->path)->mode = set->permission->mode;
    } else if (strcmp(method, "rename2") == 0) {
        exception = fake_rename(fake_read(from, &hadoop__rename__descriptor), header->call);
    }
    delimited_write(out, &done.base);
    return exception;
}

static void fake_serve_names(struct tcp *tcp, int node)
{
    static char frame[1 << 16], hello[FAKE_HELLO_BYTES];
    fake_receive(tcp, hello, sizeof hello);
    for (;;) {
        uint8_t front[4];
        fake_receive(tcp, front, sizeof front);
        const size_t size = (size_t)front[2] << 8 | front[3];
        fake_receive(tcp, frame, size);
        weft_bytes from = {frame, size};
        const Hadoop__CallHeader *header = fake_read(&from, &hadoop__call_header__descriptor);
        if (header->call < 0)
            continue;
        const Hadoop__CallName *name = fake_read(&from, &hadoop__call_name__descriptor);
        Hadoop__AnswerHeader answer = HADOOP__ANSWER_HEADER__INIT;
        struct buf result = {0}, out = {0}, whole = {0};
        fake->calls[node]++;
        answer.exception =
            (char *)(fake->is_standby[node] ? "org.apache.hadoop.ipc.StandbyException"
                                            : fake_answer(header, name->method, &from, &result));
        answer.has_call = answer.has_status = true;
        answer.call = (uint32_t)header->call;
        answer.status = answer.exception != NULL;
        delimited_write(&out, &answer.base);
        if (!answer.exception)
            buf_append(&out, result.data, result.size);
        // In one piece: the kernel would hold back a second one until the first is acknowledged.
        const char size_bytes[] = {0, 0, (char)(out.size >> 8), (char)out.size};
        buf_append(&whole, size_bytes, sizeof size_bytes);
        buf_append(&whole, out.data, out.size);
        if (tcp_send(tcp, whole.data, whole.size) != WEFT_OK)
            _exit(1);
        buf_fini(&whole);
        buf_fini(&out);
        buf_fini(&result);
    }
}

// ---- The web servers of both ----------------------------------------------------------------------------------------

static void fake_say_bytes(struct tcp *tcp, const char *head, const void *body, size_t size)
{
    struct buf text = {0};
    buf_format(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", head,
               size);
    buf_append(&text, body, size);
    if (tcp_send(tcp, text.data, text.size) != WEFT_OK)
        _exit(1);
    buf_fini(&text);
}

static void fake_say(struct tcp *tcp, const char *head, const char *body)
{
    fake_say_bytes(tcp, head, body, strlen(body));
}

// What the web server of a name node reports about it.
static void fake_describe_node(struct tcp *tcp)
{
    char text[300];
    snprintf(text, sizeof text,
             "{\"beans\": [{\"FSState\": \"%s\", \"NumLiveDataNodes\": %u, \"NumDeadDataNodes\": 1,"
             " \"CapacityRemaining\": 1000000, \"SoftwareVersion\": \"3.4.1\"}]}",
             fake->safe_calls ? "safeMode" : "Operational", fake->live_nodes);
    fake_say(tcp, "200 OK", text);
}

static void fake_take_upload(struct tcp *tcp, const char *path, bool makes_parents, size_t size,
                             uint32_t mode)
{
    fake->uploads++;
    if (fake_find(path)) {
        fake_say(tcp, "403 Forbidden",
                 "{\"RemoteException\":{\"exception\":\"FileAlreadyExistsException\"}}");
        return;
    }
    if (fake_takes(&fake->full_uploads)) {
        fake_say(tcp, "403 Forbidden",
                 "{\"RemoteException\":{\"exception\":\"DSQuotaExceededException\","
                 "\"message\":\"The DiskSpace quota is exceeded\"}}");
        return;
    }
    struct fake_file *file = fake_add_in(path, !makes_parents, false, mode);
    if (!file) {
        fake_say(tcp, "404 Not Found",
                 "{\"RemoteException\":{\"exception\":\"FileNotFoundException\"}}");
        return;
    }
    const bool is_broken = size > 0 && fake_takes(&fake->broken_uploads);
    if (size > FAKE_BYTES_MAX)
        _exit(1);
    file->size = is_broken ? size / 2 : size;
    fake_receive(tcp, file->bytes, file->size);
    if (is_broken)
        _exit(0);
    if (size > 0 && fake_takes(&fake->cut_uploads))
        file->size /= 2;
    fake_say(tcp, "201 Created", "");
}

// Adds to a file that is there. A connection that breaks has added half of it.
static void fake_take_more(struct tcp *tcp, const char *path, size_t size)
{
    struct fake_file *file = fake_find(path);
    fake->uploads++;
    if (!file || file->size + size > FAKE_BYTES_MAX) {
        fake_say(tcp, "404 Not Found",
                 "{\"RemoteException\":{\"exception\":\"FileNotFoundException\"}}");
        return;
    }
    const bool is_broken = fake_takes(&fake->broken_uploads);
    const size_t kept = is_broken ? size / 2 : size;
    fake_receive(tcp, file->bytes + file->size, kept);
    file->size += kept;
    if (is_broken)
        _exit(0);
    fake_say(tcp, "200 OK", "");
}

static void fake_give(struct tcp *tcp, const char *path, size_t offset)
{
    struct fake_file *file = fake_find(path);
    if (file && file->size > 0 && fake_takes(&fake->changed_reads))
        file->bytes[file->size / 2] ^= 1;
    fake_say_bytes(tcp, "200 OK", file ? file->bytes + offset : NULL,
                   file ? file->size - offset : 0);
}

static void fake_serve_web(struct tcp *tcp, int node)
{
    static char head[1 << 14], path[300], location[2000];
    size_t size = 0;
    do
        fake_receive(tcp, head + size++, 1);
    while (size < 4 || memcmp(head + size - 4, "\r\n\r\n", 4) != 0);
    head[size] = 0;
    char *target = strchr(head, ' ') + 1, *end = strchr(target, ' ');
    *end = 0;
    if (strncmp(target, "/jmx?", 5) == 0) {
        fake_describe_node(tcp);
    } else if (fake->is_standby[node]) {
        fake_say(tcp, "403 Forbidden",
                 "{\"RemoteException\":{\"exception\":\"StandbyException\"}}");
    } else if (!strstr(target, "&step=2")) {
        snprintf(location, sizeof location,
                 "307 Temporary Redirect\r\nLocation: http://127.0.0.1:%u%.1500s&step=2",
                 fake_nodes[node].web, target);
        fake_say(tcp, location, "");
    } else {
        const char *length = strcasestr(end + 1, "content-length:");
        snprintf(path, sizeof path, "%.*s", (int)strcspn(target + strlen("/webhdfs/v1"), "?"),
                 target + strlen("/webhdfs/v1"));
        if (strncmp(head, "GET", 3) == 0)
            fake_give(tcp, path, strtoul(strstr(target, "&offset=") + 8, NULL, 10));
        else if (strncmp(head, "POST", 4) == 0)
            fake_take_more(tcp, path, length ? strtoul(length + 15, NULL, 10) : 0);
        else
            fake_take_upload(tcp, path, strstr(target, "createparent=true"),
                             length ? strtoul(length + 15, NULL, 10) : 0,
                             strstr(target, "permission=600") ? 0600 : 0644);
    }
}

// ---- Both -----------------------------------------------------------------------------------------------------------

static uint16_t fake_listen(int *listener)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    *listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*listener, (struct sockaddr *)&here, size), 0);
    assert_int_equal(listen(*listener, 50), 0);
    assert_int_equal(getsockname(*listener, (struct sockaddr *)&here, &size), 0);
    return ntohs(here.sin_port);
}

static pid_t fake_serve(int listener, void (*serve)(struct tcp *, int), int node)
{
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process > 0) {
        close(listener);
        return process;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that fails leaves no process
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        struct tcp *tcp;
        const int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (tcp_adopt(fd, "a test", FAKE_SILENCE_MS, &tcp) == WEFT_OK)
                serve(tcp, node);
            _exit(0);
        }
        close(fd);
    }
}

static void fake_write_conf(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// One name node, or several that know the same files; they are hdfs:/// for this process. In an empty directory.
static void fake_start(int count)
{
    char text[1000], core[200] = "fake";
    struct buf site = {0};
    int rpc[FAKE_NODES_MAX], web[FAKE_NODES_MAX];
    fake = mmap(NULL, sizeof *fake, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(fake != MAP_FAILED);
    fake->live_nodes = 1;
    fake_add("/", true, 0755);
    for (int i = 0; i < count; i++) {
        fake_nodes[i].rpc = fake_listen(&rpc[i]);
        fake_nodes[i].web = fake_listen(&web[i]);
    }
    for (int i = 0; i < count; i++) {
        fake_nodes[i].servers[0] = fake_serve(rpc[i], fake_serve_names, i);
        fake_nodes[i].servers[1] = fake_serve(web[i], fake_serve_web, i);
    }
    buf_append_text(&site, "<configuration><property><name>dfs.ha.namenodes.fake</name><value>");
    buf_append_text(&site, count == 2 ? "n0,n1" : "n0");
    buf_append_text(&site, "</value></property>");
    for (int i = 0; i < count; i++)
        buf_format(&site,
                   "<property><name>dfs.namenode.rpc-address.fake.n%d</name>"
                   "<value>127.0.0.1:%u</value></property>"
                   "<property><name>dfs.namenode.http-address.fake.n%d</name>"
                   "<value>127.0.0.1:%u</value></property>",
                   i, fake_nodes[i].rpc, i, fake_nodes[i].web);
    buf_append_text(&site, "</configuration>");
    snprintf(text, sizeof text,
             "<configuration><property><name>fs.defaultFS</name><value>hdfs://%s</value>"
             "</property></configuration>",
             core);
    assert_int_equal(mkdir("conf", 0700), 0);
    fake_write_conf("conf/core-site.xml", text);
    fake_write_conf("conf/hdfs-site.xml", buf_text(&site));
    buf_fini(&site);
    setenv("HADOOP_CONF_DIR", "conf", 1);
}

static void fake_end(void)
{
    for (int i = 0; i < FAKE_NODES_MAX; i++)
        for (int j = 0; j < 2 && fake_nodes[i].servers[j]; j++) {
            kill(fake_nodes[i].servers[j], SIGKILL);
            waitpid(fake_nodes[i].servers[j], NULL, 0);
            fake_nodes[i].servers[j] = 0;
        }
    munmap(fake, sizeof *fake);
    unsetenv("HADOOP_CONF_DIR");
}

#endif
