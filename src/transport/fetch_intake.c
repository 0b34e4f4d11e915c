// Answers, as they arrive. Data is handed on from the buffer of the socket; only heads and sentences are gathered.

#include "transport/fetch_intake.h"

#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "transport/fetch_pack.h"

enum { GATHER_BYTES_MAX = FETCH_FAILED_HEAD_BYTES + FETCH_SENTENCE_BYTES_MAX };

enum state { IN_HEADER, IN_BLOCK_HEAD, IN_DATA, IN_PACKED_HEAD, IN_PACKED, IN_FAILURE };

struct fetch_intake {
    const struct fetch_intake_calls *calls;
    void *owner;
    XXH3_state_t *checksum;
    enum state state;
    char gathered[GATHER_BYTES_MAX];
    size_t gathered_size, wanted_size;  // of the part that is being gathered
    struct fetch_block block;
    size_t data_left;
    uint32_t plain_size;  // of a compressed block
    char *packed;         // it, and then its plain bytes; NULL: none came yet
    size_t packed_size, packed_got;
};

static void gather(struct fetch_intake *intake, enum state state, size_t size)
{
    intake->state = state;
    intake->gathered_size = 0;
    intake->wanted_size = size;
}

void fetch_intake_restart(struct fetch_intake *intake)
{
    gather(intake, IN_HEADER, FRAME_HEADER_BYTES);
}

struct fetch_intake *fetch_intake_new(const struct fetch_intake_calls *calls, void *owner)
{
    struct fetch_intake *intake = calloc(1, sizeof *intake);
    XXH3_state_t *checksum = XXH3_createState();
    if (!intake || !checksum) {
        free(intake);
        XXH3_freeState(checksum);
        err_no_memory("to fetch");
        return NULL;
    }
    *intake = (struct fetch_intake){.calls = calls, .owner = owner, .checksum = checksum};
    fetch_intake_restart(intake);
    return intake;
}

void fetch_intake_free(struct fetch_intake *intake)
{
    if (!intake)
        return;
    XXH3_freeState(intake->checksum);
    free(intake->packed);
    free(intake);
}

static weft_err read_header(struct fetch_intake *intake)
{
    Weft__FrameType type;
    size_t size = 0;
    const weft_err code =
        frame_decode_header((const uint8_t *)intake->gathered,
                            FETCH_PACKED_HEAD_BYTES + FETCH_BLOCK_BYTES, &type, &size);
    if (code)
        return code;
    if (type == WEFT__FRAME_TYPE__FRAME_FETCH_BLOCK && size >= FETCH_BLOCK_HEAD_BYTES &&
        size <= FETCH_BLOCK_HEAD_BYTES + FETCH_BLOCK_BYTES) {
        intake->data_left = size - FETCH_BLOCK_HEAD_BYTES;
        gather(intake, IN_BLOCK_HEAD, FETCH_BLOCK_HEAD_BYTES);
    } else if (type == WEFT__FRAME_TYPE__FRAME_FETCH_PACKED && size > FETCH_PACKED_HEAD_BYTES &&
               size < FETCH_PACKED_HEAD_BYTES + FETCH_BLOCK_BYTES) {
        intake->packed_size = size - FETCH_PACKED_HEAD_BYTES;
        gather(intake, IN_PACKED_HEAD, FETCH_PACKED_HEAD_BYTES);
    } else if (type == WEFT__FRAME_TYPE__FRAME_FETCH_FAILED && size >= FETCH_FAILED_HEAD_BYTES &&
               size <= GATHER_BYTES_MAX) {
        gather(intake, IN_FAILURE, size);
    } else {
        return err_set(WEFT_DATA_LOSS,
                       "it sent a frame of type %d and %zu bytes that answers nothing", (int)type,
                       size);
    }
    return WEFT_OK;
}

static void end_block(struct fetch_intake *intake)
{
    const bool is_sound = XXH3_64bits_digest(intake->checksum) == intake->block.checksum;
    gather(intake, IN_HEADER, FRAME_HEADER_BYTES);
    intake->calls->checked(intake->owner, is_sound);
}

static weft_err read_block_head(struct fetch_intake *intake)
{
    memcpy(&intake->block, intake->gathered, sizeof intake->block);
    const weft_err code = intake->calls->block(intake->owner, &intake->block, intake->data_left);
    if (code)
        return code;
    XXH3_64bits_reset(intake->checksum);
    intake->state = IN_DATA;
    if (intake->data_left == 0)
        end_block(intake);
    return WEFT_OK;
}

// ---- Compressed blocks --------------------------------------------------------------------------------------

static weft_err read_packed_head(struct fetch_intake *intake)
{
    memcpy(&intake->block, intake->gathered, sizeof intake->block);
    memcpy(&intake->plain_size, intake->gathered + sizeof intake->block, sizeof intake->plain_size);
    if (intake->plain_size > FETCH_BLOCK_BYTES || intake->packed_size >= intake->plain_size)
        return err_set(WEFT_DATA_LOSS, "it sent %zu bytes for a block of %u", intake->packed_size,
                       intake->plain_size);
    if (!intake->packed)
        intake->packed = malloc(2 * FETCH_BLOCK_BYTES);
    if (!intake->packed)
        return err_no_memory("to fetch");
    const weft_err code = intake->calls->block(intake->owner, &intake->block, intake->plain_size);
    intake->state = IN_PACKED;
    intake->packed_got = 0;
    return code;
}

// A block that cannot be read is handed on as wrong bytes: its request fails, and the others continue.
static void end_packed(struct fetch_intake *intake)
{
    char *plain = intake->packed + FETCH_BLOCK_BYTES;
    const bool is_whole =
        fetch_unpack_block(intake->packed, intake->packed_size, plain, intake->plain_size);
    if (!is_whole)
        memset(plain, 0, intake->plain_size);
    const bool is_sound =
        is_whole && XXH3_64bits(plain, intake->plain_size) == intake->block.checksum;
    gather(intake, IN_HEADER, FRAME_HEADER_BYTES);
    intake->calls->data(intake->owner, (weft_bytes){plain, intake->plain_size});
    intake->calls->checked(intake->owner, is_sound);
}

static size_t read_packed(struct fetch_intake *intake, weft_bytes bytes)
{
    const size_t missing = intake->packed_size - intake->packed_got;
    const size_t size = bytes.size < missing ? bytes.size : missing;
    memcpy(intake->packed + intake->packed_got, bytes.data, size);
    intake->packed_got += size;
    if (intake->packed_got == intake->packed_size)
        end_packed(intake);
    return size;
}

static weft_err read_failure(struct fetch_intake *intake)
{
    uint64_t request;
    uint32_t number;
    char sentence[FETCH_SENTENCE_BYTES_MAX + 1];
    memcpy(&request, intake->gathered, 8);
    memcpy(&number, intake->gathered + 8, 4);
    snprintf(sentence, sizeof sentence, "%.*s",
             (int)(intake->gathered_size - FETCH_FAILED_HEAD_BYTES),
             intake->gathered + FETCH_FAILED_HEAD_BYTES);
    for (char *at = sentence; *at; at++)  // it is shown to people, and may have several lines
        if (((unsigned char)*at < ' ' && *at != '\n') || *at == 127)
            *at = '?';
    const weft_err code =
        number > WEFT_OK && number <= WEFT_UNAUTHENTICATED ? (weft_err)number : WEFT_UNKNOWN;
    gather(intake, IN_HEADER, FRAME_HEADER_BYTES);
    return intake->calls->failed(intake->owner, request, code, sentence);
}

static weft_err read_gathered(struct fetch_intake *intake)
{
    switch (intake->state) {
    case IN_HEADER:
        return read_header(intake);
    case IN_BLOCK_HEAD:
        return read_block_head(intake);
    case IN_PACKED_HEAD:
        return read_packed_head(intake);
    default:
        return read_failure(intake);
    }
}

// Takes the data at the beginning of the bytes, and returns how many there were.
static size_t read_data(struct fetch_intake *intake, weft_bytes bytes)
{
    const size_t size = bytes.size < intake->data_left ? bytes.size : intake->data_left;
    XXH3_64bits_update(intake->checksum, bytes.data, size);
    intake->data_left -= size;
    intake->calls->data(intake->owner, (weft_bytes){bytes.data, size});
    if (intake->data_left == 0)
        end_block(intake);
    return size;
}

weft_err fetch_intake_receive(struct fetch_intake *intake, weft_bytes bytes)
{
    weft_err code = WEFT_OK;
    while (bytes.size && !code) {
        size_t taken;
        if (intake->state == IN_DATA) {
            taken = read_data(intake, bytes);
        } else if (intake->state == IN_PACKED) {
            taken = read_packed(intake, bytes);
        } else {
            const size_t missing = intake->wanted_size - intake->gathered_size;
            taken = bytes.size < missing ? bytes.size : missing;
            memcpy(intake->gathered + intake->gathered_size, bytes.data, taken);
            intake->gathered_size += taken;
            if (intake->gathered_size == intake->wanted_size)
                code = read_gathered(intake);
        }
        bytes.data += taken;
        bytes.size -= taken;
    }
    return code;
}
