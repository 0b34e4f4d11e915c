// Tests of files that change while they are read, and of lists that no name node should give: a name node and a data node of our own, each a process.
#include "store/hdfs/reader.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/net/tcp.h"
#include "wire/hadoop/delimited.h"

enum { BLOCK_BYTES = 1000, GONE = 2, HELLO_BYTES = 7, SILENCE_MS = 10000, NOBODY_PORT = 1 };

// What the name node says after the first time it is asked for the blocks of the file, which are 1 and 2.
static struct {
    uint64_t first_number, file_length;
    const char *listed;  // the only name in a directory
} then;

static uint16_t data_port;
static pid_t servers[2];

static void receive(struct tcp *tcp, void *data, size_t size)
{
    if (tcp_receive(tcp, data, size) != WEFT_OK)
        _exit(0);
}

static void *read_message(weft_bytes *from, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message;
    if (delimited_read(from, descriptor, &message) != WEFT_OK)
        _exit(1);
    return message;
}

// ---- The name node --------------------------------------------------------------------------------------------------

static void append_blocks(struct buf *out, bool is_first)
{
    Hadoop__BlockLocations locations = HADOOP__BLOCK_LOCATIONS__INIT;
    Hadoop__LocatedBlocks located = HADOOP__LOCATED_BLOCKS__INIT;
    Hadoop__LocatedBlock one[2], *both[] = {&one[0], &one[1]};
    Hadoop__Block blocks[2];
    Hadoop__DataNodeId id = HADOOP__DATA_NODE_ID__INIT;
    Hadoop__DataNode node = HADOOP__DATA_NODE__INIT, *nodes[] = {&node};
    id.ip = "127.0.0.1";
    id.has_port = true;
    id.port = data_port;
    node.id = &id;
    located.has_file_length = true;
    located.file_length = is_first ? (uint64_t)2 * BLOCK_BYTES : then.file_length;
    for (uint64_t i = 0, left = located.file_length; left; i++) {
        const uint64_t size = left < BLOCK_BYTES ? left : BLOCK_BYTES;
        hadoop__block__init(&blocks[i]);
        hadoop__located_block__init(&one[i]);
        blocks[i].pool = "p";
        blocks[i].number = (is_first ? 1 : then.first_number) + i;
        blocks[i].has_size = one[i].has_offset = true;
        blocks[i].size = size;
        one[i].offset = i * BLOCK_BYTES;
        one[i].block = &blocks[i];
        one[i].places = nodes;
        one[i].n_places = 1;
        located.n_blocks++;
        left -= size;
    }
    located.blocks = both;
    locations.located = &located;
    delimited_write(out, &locations.base);
}

static void append_result(struct buf *out, const char *method)
{
    static int located_count;
    Hadoop__FileStatus status = HADOOP__FILE_STATUS__INIT, *entries[] = {&status};
    status.has_type = status.has_length = status.has_path = true;
    status.type = 2;
    status.path =
        (ProtobufCBinaryData){then.listed ? strlen(then.listed) : 0, (uint8_t *)then.listed};
    if (strcmp(method, "getBlockLocations") == 0) {
        append_blocks(out, located_count++ == 0);
    } else if (strcmp(method, "getListing") == 0) {
        Hadoop__ListingAnswer answer = HADOOP__LISTING_ANSWER__INIT;
        Hadoop__Listing listing = HADOOP__LISTING__INIT;
        listing.entries = entries;
        listing.n_entries = 1;
        answer.listing = &listing;
        delimited_write(out, &answer.base);
    } else {
        Hadoop__FileInfo info = HADOOP__FILE_INFO__INIT;
        info.status = &status;
        delimited_write(out, &info.base);
    }
}

static void serve_names(struct tcp *tcp)
{
    char frame[4096], hello[HELLO_BYTES];
    receive(tcp, hello, sizeof hello);
    for (;;) {
        uint8_t front[4];
        receive(tcp, front, sizeof front);
        const size_t size = (size_t)front[2] << 8 | front[3];
        receive(tcp, frame, size);
        weft_bytes from = {frame, size};
        Hadoop__CallHeader *header = read_message(&from, &hadoop__call_header__descriptor);
        if (header->call < 0)
            continue;
        const Hadoop__CallName *name = read_message(&from, &hadoop__call_name__descriptor);
        Hadoop__AnswerHeader answer = HADOOP__ANSWER_HEADER__INIT;
        struct buf out = {0};
        answer.has_call = true;
        answer.call = (uint32_t)header->call;
        delimited_write(&out, &answer.base);
        append_result(&out, name->method);
        const char size_bytes[] = {0, 0, (char)(out.size >> 8), (char)out.size};
        if (tcp_send(tcp, size_bytes, sizeof size_bytes) != WEFT_OK ||
            tcp_send(tcp, out.data, out.size) != WEFT_OK)
            _exit(1);
    }
}

// ---- The data node --------------------------------------------------------------------------------------------------

// One packet without checksums: the number of the block, as a letter.
static void append_packet(struct buf *out, uint64_t offset, uint32_t size, uint64_t number)
{
    uint8_t header[64];
    Hadoop__PacketHeader message = HADOOP__PACKET_HEADER__INIT;
    message.offset = (int64_t)offset;
    message.is_last = size == 0;
    message.size = (int32_t)size;
    const size_t header_bytes = hadoop__packet_header__pack(&message, header);
    const uint32_t packet_bytes = size + 4;
    const char front[] = {
        0, 0, (char)(packet_bytes >> 8), (char)packet_bytes, 0, (char)header_bytes};
    buf_append(out, front, sizeof front);
    buf_append(out, header, header_bytes);
    for (uint32_t i = 0; i < size; i++)
        buf_append(out, &(char){(char)('0' + number)}, 1);
}

static void serve_data(struct tcp *tcp)
{
    char front[4], request[256];
    receive(tcp, front, sizeof front);  // and the size, which is one byte
    receive(tcp, request, (size_t)front[3]);
    const Hadoop__ReadBlock *read =
        (void *)hadoop__read_block__unpack(NULL, (size_t)front[3], (uint8_t *)request);
    Hadoop__BlockAnswer answer = HADOOP__BLOCK_ANSWER__INIT;
    Hadoop__ReadInfo info = HADOOP__READ_INFO__INIT;
    Hadoop__Checksum checksum = HADOOP__CHECKSUM__INIT;
    const Hadoop__Block *block = read->header->block->block;
    struct buf out = {0};
    info.checksum = &checksum;
    answer.read = &info;
    answer.has_status = true;
    answer.status = block->number == GONE;
    delimited_write(&out, &answer.base);
    append_packet(&out, read->offset, (uint32_t)read->length, block->number);
    append_packet(&out, read->offset + read->length, 0, block->number);
    if (tcp_send(tcp, out.data, out.size) != WEFT_OK)
        _exit(1);
}

// ---- Both -----------------------------------------------------------------------------------------------------------

// A process that serves one connection after the other. Returns its port.
static uint16_t start(pid_t *process, void (*serve)(struct tcp *))
{
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof here;
    assert_int_equal(bind(listener, (struct sockaddr *)&here, size), 0);
    assert_int_equal(listen(listener, 10), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&here, &size), 0);
    *process = fork();
    assert_true(*process >= 0);
    if (*process == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that fails leaves no process
    while (*process == 0) {
        struct tcp *tcp;
        const int fd = accept(listener, NULL, NULL);
        if (fd < 0 || tcp_adopt(fd, "a test", SILENCE_MS, &tcp) != WEFT_OK)
            _exit(1);
        serve(tcp);
        tcp_close(tcp);
    }
    close(listener);
    return ntohs(here.sin_port);
}

static struct namenode *start_both(void)
{
    struct site site = {.count = 1};
    struct namenode *namenode;
    data_port = start(&servers[0], serve_data);
    snprintf(site.nodes[0].rpc.host, sizeof site.nodes[0].rpc.host, "127.0.0.1");
    site.nodes[0].web = site.nodes[0].rpc;
    site.nodes[0].rpc.port = start(&servers[1], serve_names);
    site.nodes[0].web.port = NOBODY_PORT;
    assert_int_equal(namenode_new(&site, "me", 1000, &namenode), WEFT_OK);
    return namenode;
}

static void end_both(struct namenode *namenode)
{
    namenode_free(namenode);
    for (int i = 0; i < 2; i++) {
        kill(servers[i], SIGKILL);
        waitpid(servers[i], NULL, 0);
    }
}

// ---- Files that change ------------------------------------------------------------------------------------------------

// The first block is there, and the data node has the second one no more.
static void expect_refused(const char *words)
{
    char bytes[2 * BLOCK_BYTES];
    size_t got;
    struct reader *reader;
    struct namenode *namenode = start_both();
    assert_int_equal(reader_open(namenode, "/f", &reader), WEFT_OK);
    assert_int_equal(reader_read_at(reader, bytes, BLOCK_BYTES, 0, &got), WEFT_OK);
    assert_int_equal(got, BLOCK_BYTES);
    assert_int_equal(bytes[BLOCK_BYTES - 1], '1');
    assert_int_equal(reader_read_at(reader, bytes, BLOCK_BYTES, BLOCK_BYTES, &got), WEFT_DATA_LOSS);
    if (!strstr(err_text(), words))
        fail_msg("%s", err_text());
    err_clear();
    reader_close(reader);
    end_both(namenode);
}

static void bytes_of_two_files_are_not_mixed(void **state)
{
    (void)state;
    then.first_number = 5;
    then.file_length = 2 * BLOCK_BYTES;
    expect_refused("was replaced");
}

static void a_file_that_is_cut_is_noticed(void **state)
{
    (void)state;
    then.first_number = 1;
    then.file_length = BLOCK_BYTES / 2;
    expect_refused("became shorter");
}

// ---- Names ------------------------------------------------------------------------------------------------------------

static weft_err count_entry(void *owner, const Hadoop__FileStatus *entry)
{
    (void)entry;
    ++*(int *)owner;
    return WEFT_OK;
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_good;
    } names[] = {{"..", false}, {".", false}, {"a/b", false}, {"/", false},
                 {"...", true}, {".a", true}, {"", true}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int count = 0;
        then.listed = names[i].name;
        struct namenode *namenode = start_both();
        const weft_err code = namenode_list(namenode, "/d", count_entry, &count);
        assert_int_equal(code, names[i].is_good ? WEFT_OK : WEFT_DATA_LOSS);
        assert_int_equal(count, names[i].is_good);
        err_clear();
        end_both(namenode);
    }
    then.listed = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_two_files_are_not_mixed),
        cmocka_unit_test(a_file_that_is_cut_is_noticed),
        cmocka_unit_test(names_that_lead_elsewhere_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
