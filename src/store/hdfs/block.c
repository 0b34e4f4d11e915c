// Packets of a block, one after the other.

#include "store/hdfs/block.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/hdfs/packet.h"
#include "wire/hadoop/delimited.h"

enum {
    CONNECT_MS = 5000,
    SILENCE_MS = 30000,
    READ_BLOCK = 81,
    VERSION = 28,
    CHECKSUM_OK = 6,
    ANSWER_BYTES_MAX = 1 << 20,
    CHUNK_BYTES_MAX = 1 << 20,
};

struct block {
    struct tcp *tcp;
    struct net_address address;
    uint64_t at, end;  // in the block
    enum packet_checksum checksum;
    uint32_t chunk_bytes;
    struct buf checksums, data;  // of the packet that is being given out
    size_t given;                // of `data`
};

static weft_err wrong(const struct block *block, const char *what)
{
    return err_set(WEFT_DATA_LOSS, "the data node %s sent %s", tcp_name(block->tcp), what);
}

// ---- The request ------------------------------------------------------------------------------------------------

static weft_err send_request(const struct block *block, const struct block_options *options)
{
    static const char front[] = {0, VERSION, READ_BLOCK};
    Hadoop__BaseHeader base = HADOOP__BASE_HEADER__INIT;
    Hadoop__OperationHeader header = HADOOP__OPERATION_HEADER__INIT;
    Hadoop__ReadBlock read = HADOOP__READ_BLOCK__INIT;
    struct buf out = {0};
    base.block = options->located->block;
    base.token = options->located->token;
    header.block = &base;
    header.client = (char *)options->client;
    read.header = &header;
    read.offset = options->begin;
    read.length = options->end - options->begin;
    read.has_sends_checksums = true;
    read.sends_checksums = true;
    buf_append(&out, front, sizeof front);
    delimited_write(&out, &read.base);
    const weft_err code = out.has_failed ? err_no_memory("to read a block")
                                         : tcp_send(block->tcp, out.data, out.size);
    buf_fini(&out);
    return code;
}

// A message with its size, byte by byte to its end: packets follow.
static weft_err receive_message(const struct block *block,
                                const ProtobufCMessageDescriptor *descriptor,
                                ProtobufCMessage **message)
{
    char front[5];
    weft_bytes view = {front, 0};
    uint32_t size = 0;
    *message = NULL;
    do {
        if (view.size == sizeof front)
            return wrong(block, "no answer");
        const weft_err code = tcp_receive(block->tcp, front + view.size, 1);
        if (code != WEFT_OK)
            return code;
        view = (weft_bytes){front, view.size + 1};
    } while (!delimited_read_size(&(weft_bytes){view.data, view.size}, &size));
    if (size > ANSWER_BYTES_MAX)
        return wrong(block, "no answer");
    uint8_t *bytes = malloc((size_t)size + 1);
    weft_err code = bytes ? tcp_receive(block->tcp, bytes, size) : err_no_memory("to read a block");
    if (code == WEFT_OK) {
        *message = protobuf_c_message_unpack(descriptor, NULL, size, bytes);
        code = *message ? WEFT_OK : wrong(block, "no answer");
    }
    free(bytes);
    return code;
}

static weft_err take_answer(struct block *block, const struct block_options *options,
                            const Hadoop__BlockAnswer *answer)
{
    if (answer->status != 0)
        return err_set(WEFT_UNAVAILABLE, "the data node %s does not give block %" PRIu64 ": %.200s",
                       tcp_name(block->tcp), options->located->block->number,
                       answer->text && answer->text[0] ? answer->text : "no reason");
    const Hadoop__Checksum *checksum = answer->read ? answer->read->checksum : NULL;
    if (!checksum || checksum->type > PACKET_CRC32C ||
        (checksum->type != PACKET_PLAIN &&
         (checksum->chunk_bytes == 0 || checksum->chunk_bytes > CHUNK_BYTES_MAX)))
        return wrong(block, "checksums of an unknown kind");
    block->checksum = (enum packet_checksum)checksum->type;
    block->chunk_bytes = checksum->chunk_bytes;
    return WEFT_OK;
}

weft_err block_over(struct tcp *tcp, const struct block_options *options, struct block **opened)
{
    struct block *block = calloc(1, sizeof *block);
    ProtobufCMessage *answer = NULL;
    *opened = NULL;
    if (!block) {
        tcp_close(tcp);
        return err_no_memory("to read a block");
    }
    block->tcp = tcp;
    block->address = options->address;
    block->at = options->begin;
    block->end = options->end;
    weft_err code = send_request(block, options);
    if (code == WEFT_OK)
        code = receive_message(block, &hadoop__block_answer__descriptor, &answer);
    if (code == WEFT_OK)
        code = take_answer(block, options, (const Hadoop__BlockAnswer *)answer);
    if (answer)
        protobuf_c_message_free_unpacked(answer, NULL);
    if (code == WEFT_OK)
        *opened = block;
    else
        block_close(block);
    return code;
}

weft_err block_open(const struct block_options *options, struct block **opened)
{
    struct tcp *tcp;
    *opened = NULL;
    const weft_err code = tcp_open(&options->address, CONNECT_MS, SILENCE_MS, &tcp);
    return code == WEFT_OK ? block_over(tcp, options, opened) : code;
}

void block_close(struct block *block)
{
    if (!block)
        return;
    struct err_kept kept;
    err_keep(&kept);
    tcp_close(block->tcp);
    buf_fini(&block->checksums);
    buf_fini(&block->data);
    free(block);
    err_put_back(&kept);
}

const struct net_address *block_address(const struct block *block)
{
    return &block->address;
}

// ---- Packets ------------------------------------------------------------------------------------------------------

static weft_err receive_into(const struct block *block, struct buf *buf, size_t size)
{
    buf->size = 0;
    char *to = buf_reserve(buf, size + 1);
    if (!to)
        return err_no_memory("to read a block");
    buf->size = size;
    return tcp_receive(block->tcp, to, size);
}

static weft_err receive_header(struct block *block, struct packet *packet)
{
    char front[PACKET_FRONT_BYTES], header[PACKET_HEADER_BYTES_MAX];
    uint32_t packet_bytes;
    uint16_t header_bytes;
    weft_err code = tcp_receive(block->tcp, front, sizeof front);
    if (code == WEFT_OK)
        code = packet_read_front(front, &packet_bytes, &header_bytes);
    if (code == WEFT_OK)
        code = tcp_receive(block->tcp, header, header_bytes);
    if (code == WEFT_OK)
        code = packet_read_header((weft_bytes){header, header_bytes}, packet_bytes, block->checksum,
                                  block->chunk_bytes, packet);
    if (code == WEFT_OK)
        code = receive_into(block, &block->checksums, packet->checksum_bytes);
    return code == WEFT_DATA_LOSS ? wrong(block, "a damaged packet") : code;
}

// The bytes of a packet that were asked for: the first packet begins at a chunk, and the last one ends at one.
static weft_err check_place(const struct block *block, const struct packet *packet, size_t *skipped)
{
    if (packet->offset > block->at || packet->offset + packet->data_bytes <= block->at)
        return wrong(block, "bytes of another place");
    *skipped = (size_t)(block->at - packet->offset);
    return WEFT_OK;
}

static weft_err receive_data(struct block *block, const struct packet *packet, char *to)
{
    const weft_err code = tcp_receive(block->tcp, to, packet->data_bytes);
    if (code == WEFT_OK && !packet_is_sound(block->checksum, block->chunk_bytes,
                                            block->checksums.data, to, packet->data_bytes))
        return wrong(block, "bytes with a wrong checksum");
    return code;
}

// The data node need not know that all was well, but logs a warning when it does not. After the last byte it sends an empty packet.
static void thank(struct block *block)
{
    struct packet packet;
    if (receive_header(block, &packet) != WEFT_OK || !packet.is_last) {
        err_clear();
        return;
    }
    Hadoop__ReadResult result = HADOOP__READ_RESULT__INIT;
    struct buf out = {0};
    result.status = CHECKSUM_OK;
    delimited_write(&out, &result.base);
    if (out.has_failed || tcp_send(block->tcp, out.data, out.size) != WEFT_OK)
        err_clear();
    buf_fini(&out);
}

// The rest of a packet that was received before.
static size_t give_kept(struct block *block, void *data, size_t size)
{
    size_t left = block->data.size - block->given;
    if (left > block->end - block->at)
        left = (size_t)(block->end - block->at);
    const size_t count = left < size ? left : size;
    if (count)
        memcpy(data, block->data.data + block->given, count);
    block->given += count;
    block->at += count;
    return count;
}

// The next packet: straight to its place if all of it is wanted, else to be given out from here.
static weft_err take_packet(struct block *block, void *data, size_t size, size_t *got)
{
    struct packet packet;
    size_t skipped = 0;
    weft_err code = receive_header(block, &packet);
    if (code == WEFT_OK && (packet.is_last || packet.data_bytes == 0))
        return wrong(block, "fewer bytes than the block has");
    if (code == WEFT_OK)
        code = check_place(block, &packet, &skipped);
    if (code != WEFT_OK)
        return code;
    if (skipped == 0 && packet.data_bytes <= size && packet.data_bytes <= block->end - block->at) {
        code = receive_data(block, &packet, data);
        *got = code == WEFT_OK ? packet.data_bytes : 0;
        block->at += *got;
        return code;
    }
    block->data.size = 0;
    char *to = buf_reserve(&block->data, packet.data_bytes);
    code = to ? receive_data(block, &packet, to) : err_no_memory("to read a block");
    if (code != WEFT_OK)
        return code;
    block->data.size = packet.data_bytes;
    block->given = skipped;
    *got = give_kept(block, data, size);
    return WEFT_OK;
}

weft_err block_read(struct block *block, void *data, size_t size, size_t *got)
{
    *got = 0;
    if (size == 0 || block->at == block->end)
        return WEFT_OK;
    weft_err code = WEFT_OK;
    if (block->given < block->data.size)
        *got = give_kept(block, data, size);
    else
        code = take_packet(block, data, size, got);
    if (code == WEFT_OK && block->at == block->end)
        thank(block);
    return code;
}
