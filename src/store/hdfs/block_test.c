// Tests of reading a block: packets as a data node sends them, and what one may send that is wrong.
#include "store/hdfs/block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "base/crc32c.h"
#include "store/hdfs/packet.h"
#include "wire/hadoop/delimited.h"

enum { BLOCK_BYTES = 3000, CHUNK_BYTES = 512 };

static char content[BLOCK_BYTES];
static struct buf sent;  // by the data node

static void append_number(struct buf *out, uint32_t value, size_t size)
{
    for (size_t i = size; i-- > 0;) {
        const char byte = (char)(value >> (8 * i));
        buf_append(out, &byte, 1);
    }
}

static void append_answer(uint32_t type, uint32_t status)
{
    Hadoop__BlockAnswer answer = HADOOP__BLOCK_ANSWER__INIT;
    Hadoop__ReadInfo read = HADOOP__READ_INFO__INIT;
    Hadoop__Checksum checksum = HADOOP__CHECKSUM__INIT;
    checksum.has_type = checksum.has_chunk_bytes = true;
    checksum.type = type;
    checksum.chunk_bytes = CHUNK_BYTES;
    read.checksum = &checksum;
    answer.has_status = true;
    answer.status = status;
    answer.text = status ? "gone" : NULL;
    answer.read = &read;
    delimited_write(&sent, &answer.base);
}

static void append_packet(enum packet_checksum checksum, uint32_t offset, uint32_t size)
{
    uint8_t header[64];
    Hadoop__PacketHeader message = HADOOP__PACKET_HEADER__INIT;
    message.offset = offset;
    message.is_last = size == 0;
    message.size = (int32_t)size;
    const size_t header_bytes = hadoop__packet_header__pack(&message, header);
    const uint32_t chunks = checksum ? (size + CHUNK_BYTES - 1) / CHUNK_BYTES : 0;
    append_number(&sent, 4 + 4 * chunks + size, 4);
    append_number(&sent, (uint32_t)header_bytes, 2);
    buf_append(&sent, header, header_bytes);
    for (uint32_t i = 0; i < chunks; i++) {
        const uint32_t at = offset + i * CHUNK_BYTES;
        const uint32_t chunk = offset + size - at < CHUNK_BYTES ? offset + size - at : CHUNK_BYTES;
        append_number(&sent,
                      checksum == PACKET_CRC32C ? crc32c(0, content + at, chunk)
                                                : (uint32_t)crc32(0, (Bytef *)content + at, chunk),
                      4);
    }
    buf_append(&sent, content + offset, size);
}

// Reads [begin, end) of the sent bytes, in steps. The first failure.
static weft_err read_all(uint64_t begin, uint64_t end, size_t step, struct buf *got)
{
    Hadoop__Block number = HADOOP__BLOCK__INIT;
    Hadoop__LocatedBlock located = HADOOP__LOCATED_BLOCK__INIT;
    int ends[2];
    struct tcp *tcp;
    struct block *block;
    number.pool = "p";
    located.block = &number;
    const struct block_options options = {
        .located = &located, .client = "c", .begin = begin, .end = end};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(write(ends[1], sent.data, sent.size), (ssize_t)sent.size);
    shutdown(ends[1], SHUT_WR);
    assert_int_equal(tcp_adopt(ends[0], "dn:9866", 200, &tcp), WEFT_OK);
    weft_err code = block_over(tcp, &options, &block);
    size_t more = code == WEFT_OK;
    while (code == WEFT_OK && more) {
        char *to = buf_reserve(got, step);
        code = block_read(block, to, step, &more);
        assert_true(more <= step);
        got->size += more;
    }
    block_close(block);
    close(ends[1]);
    return code;
}

static int set_up(void **state)
{
    (void)state;
    for (int i = 0; i < BLOCK_BYTES; i++)
        content[i] = (char)(i * 7 + i / 256);
    sent.size = 0;
    err_clear();
    return 0;
}

static void every_stretch_is_read_with_either_checksum(void **state)
{
    (void)state;
    static const uint64_t stretches[][2] = {{0, BLOCK_BYTES}, {0, 1},       {511, 513},
                                            {700, 2900},      {1024, 2048}, {2999, 3000}};
    for (enum packet_checksum checksum = PACKET_PLAIN; checksum <= PACKET_CRC32C; checksum++)
        for (size_t i = 0; i < sizeof stretches / sizeof *stretches; i++)
            for (size_t step = 1; step <= 4096; step = step * 3 + 1) {
                const uint64_t begin = stretches[i][0], end = stretches[i][1];
                struct buf got = {0};
                sent.size = 0;
                append_answer(checksum, 0);
                // From the chunk where it begins, in packets of two chunks.
                uint32_t at = (uint32_t)begin / CHUNK_BYTES * CHUNK_BYTES;
                for (; at < end; at += 2 * CHUNK_BYTES)
                    append_packet(checksum, at,
                                  BLOCK_BYTES - at < 2 * CHUNK_BYTES ? BLOCK_BYTES - at
                                                                     : 2 * CHUNK_BYTES);
                append_packet(checksum, BLOCK_BYTES, 0);
                assert_int_equal(read_all(begin, end, step, &got), WEFT_OK);
                assert_int_equal(got.size, end - begin);
                assert_memory_equal(got.data, content + begin, got.size);
                buf_fini(&got);
            }
}

static void no_flipped_bit_is_given_out(void **state)
{
    (void)state;
    append_answer(PACKET_CRC32C, 0);
    const size_t front = sent.size;
    append_packet(PACKET_CRC32C, 0, 600);
    append_packet(PACKET_CRC32C, 600, 0);
    // Every bit of the packet: its sizes, header, checksums and data. Some of the header are not used.
    for (size_t i = 8 * front; i < 8 * sent.size; i++) {
        struct buf got = {0};
        sent.data[i / 8] ^= (char)(1 << i % 8);
        if (read_all(0, 600, 1000, &got) == WEFT_OK) {
            assert_int_equal(got.size, 600);
            assert_memory_equal(got.data, content, 600);
        }
        err_clear();
        buf_fini(&got);
        sent.data[i / 8] ^= (char)(1 << i % 8);
    }
}

static void a_stream_that_is_cut_off_gives_no_wrong_byte(void **state)
{
    (void)state;
    append_answer(PACKET_CRC32C, 0);
    append_packet(PACKET_CRC32C, 0, 1000);
    const size_t whole = sent.size;
    for (size_t size = 0; size < whole; size++) {
        struct buf got = {0};
        sent.size = size;
        assert_int_not_equal(read_all(0, 1000, 400, &got), WEFT_OK);
        assert_int_equal(got.size, 0);
        buf_fini(&got);
    }
    sent.size = whole;
}

static void expect_refused(uint64_t end, const char *words)
{
    struct buf got = {0};
    assert_int_not_equal(read_all(0, end, 4096, &got), WEFT_OK);
    if (!strstr(err_text(), words))
        fail_msg("%s", err_text());
    buf_fini(&got);
    sent.size = 0;
}

static void what_a_data_node_may_not_send_is_refused(void **state)
{
    (void)state;
    append_answer(PACKET_CRC32C, 1);
    expect_refused(10, "does not give block 0: gone");
    append_answer(9, 0);
    expect_refused(10, "unknown kind");
    append_answer(PACKET_CRC32C, 0);
    append_packet(PACKET_CRC32C, 512, 512);
    expect_refused(1000, "another place");
    append_answer(PACKET_CRC32C, 0);
    append_packet(PACKET_CRC32C, 0, 512);
    append_packet(PACKET_CRC32C, 512, 0);
    expect_refused(1000, "fewer bytes");
    append_answer(PACKET_CRC32C, 0);
    append_packet(PACKET_PLAIN, 0, 512);  // without its checksum
    expect_refused(512, "damaged packet");
    buf_append(&sent, "\xff\xff\xff\xff\xff\xff", 6);
    expect_refused(512, "no answer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_stretch_is_read_with_either_checksum, set_up),
        cmocka_unit_test_setup(no_flipped_bit_is_given_out, set_up),
        cmocka_unit_test_setup(a_stream_that_is_cut_off_gives_no_wrong_byte, set_up),
        cmocka_unit_test_setup(what_a_data_node_may_not_send_is_refused, set_up),
    };
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&sent);
    return failures;
}
