// Fuzzes fetching from both ends. The first byte says what the bytes after it are: requests of a client that has the token and lies, answers of such a
// server, or changes to answers that are right: then no block with a right checksum has wrong bytes. From 128 on, the server compresses.
#include <stdint.h>
#include <stdlib.h>

#include "sys/file/file.h"
#include "transport/fetch_files.h"
#include "transport/fetch_intake.h"
#include "transport/fetch_serve.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_BYTES = 100000, OUT_BYTES_MAX = 1 << 20 };

static struct fetch_files *files;
static char original[FILE_BYTES];
static enum fetch_packing packing;

// Read from a file that is there wherever this runs: its own program.
static void prepare(void)
{
    struct fetch_file file = {.id = 1, .size = FILE_BYTES, .name = "program"};
    size_t got = 0;
    if (files)
        return;
    files = fetch_files_new();
    ASSERT(files && !file_open("/proc/self/exe", &file.fd));
    ASSERT(!fetch_files_add(files, &file));
    ASSERT(!file_read_at(file.fd, "program", original, FILE_BYTES, 0, &got) && got == FILE_BYTES);
    // Claims more than it has.
    file = (struct fetch_file){.id = 2, .fd = file.fd, .size = UINT64_MAX, .name = "cut"};
    ASSERT(!fetch_files_add(files, &file));
}

// ---- Requests -----------------------------------------------------------------------------------------------

static void face_a_client(const uint8_t *data, size_t size)
{
    struct fetch_serve serve = {.files = files, .pack.packing = packing};
    struct frame_parser parser = {.payload_bytes_max = FETCH_REQUEST_BYTES};
    struct buf out = {0};
    bool has_frame = true;
    weft_err code = frame_parser_feed(&parser, data, size);
    while (!code && has_frame) {
        struct frame frame = {0};
        code = frame_parser_next(&parser, &frame, &has_frame);
        if (!code && has_frame)
            code = fetch_serve_receive(&serve, &frame);
        const uint64_t credit = serve.credit;
        out.size = 0;
        fetch_serve_put(&serve, &out, OUT_BYTES_MAX);
        ASSERT(serve.credit <= credit);
        ASSERT(out.size < OUT_BYTES_MAX + FETCH_BLOCK_BYTES + 2 * FETCH_SENTENCE_BYTES_MAX);
    }
    fetch_serve_fini(&serve);
    frame_parser_fini(&parser);
    buf_fini(&out);
    err_clear();
}

// ---- Answers ------------------------------------------------------------------------------------------------

struct heard {
    struct fetch_block block;
    char bytes[FETCH_BLOCK_BYTES];
    size_t announced, size;
    bool is_inside;
};

static weft_err hear_block(void *owner, const struct fetch_block *block, size_t size)
{
    struct heard *heard = owner;
    ASSERT(!heard->is_inside && size <= FETCH_BLOCK_BYTES);
    heard->block = *block;
    heard->announced = size;
    heard->size = 0;
    heard->is_inside = true;
    return block->request == 99 ? err_set(WEFT_DATA_LOSS, "not asked for") : WEFT_OK;
}

static void hear_data(void *owner, weft_bytes bytes)
{
    struct heard *heard = owner;
    ASSERT(heard->is_inside && bytes.size <= heard->announced - heard->size);
    memcpy(heard->bytes + heard->size, bytes.data, bytes.size);
    heard->size += bytes.size;
}

static void hear_checked(void *owner, bool is_sound)
{
    struct heard *heard = owner;
    (void)is_sound;
    ASSERT(heard->is_inside && heard->size == heard->announced);
    heard->is_inside = false;
}

static weft_err hear_failed(void *owner, uint64_t request, weft_err code, const char *sentence)
{
    (void)owner, (void)request;
    ASSERT(code != WEFT_OK && strlen(sentence) <= FETCH_SENTENCE_BYTES_MAX);
    return WEFT_OK;
}

static const struct fetch_intake_calls calls = {hear_block, hear_data, hear_checked, hear_failed};

// In pieces: the first byte is the size of each, 0 for all at once.
static void face_a_server(const uint8_t *data, size_t size)
{
    struct heard *heard = calloc(1, sizeof *heard);
    struct fetch_intake *intake = fetch_intake_new(&calls, heard);
    ASSERT(heard && intake);
    const size_t piece = size && data[0] ? data[0] : size + 1;
    weft_err code = WEFT_OK;
    for (size_t at = 1; at < size && !code; at += piece) {
        const size_t left = size - at;
        code = fetch_intake_receive(
            intake, (weft_bytes){(const char *)data + at, left < piece ? left : piece});
    }
    fetch_intake_free(intake);
    free(heard);
    err_clear();
}

// ---- Changes on the way -------------------------------------------------------------------------------------

// The head of a block is not covered by its checksum: the client compares that with what it asked for.
static void check_sound(void *owner, bool is_sound)
{
    struct heard *heard = owner;
    hear_checked(owner, is_sound);
    ASSERT(!is_sound || memcmp(heard->bytes, original + 10, heard->size) == 0);
}

static void change_answers(const uint8_t *data, size_t size)
{
    static const struct fetch_intake_calls checking = {hear_block, hear_data, check_sound,
                                                       hear_failed};
    struct fetch_serve serve = {.files = files, .credit = FILE_BYTES, .pack.packing = packing};
    const struct fetch_request request = {1, 1, 10, 5000};
    const struct frame frame = {.type = WEFT__FRAME_TYPE__FRAME_FETCH,
                                .payload = {(const char *)&request, sizeof request}};
    struct buf out = {0};
    struct heard *heard = calloc(1, sizeof *heard);
    struct fetch_intake *intake = fetch_intake_new(&checking, heard);
    ASSERT(heard && intake && !fetch_serve_receive(&serve, &frame));
    fetch_serve_put(&serve, &out, SIZE_MAX);
    for (; size >= 3; data += 3, size -= 3)
        out.data[((size_t)data[0] << 8 | data[1]) % out.size] ^= (char)data[2];
    if (fetch_intake_receive(intake, buf_bytes(&out)))
        err_clear();
    fetch_intake_free(intake);
    free(heard);
    fetch_serve_fini(&serve);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    prepare();
    packing = data[0] < 128 ? FETCH_PACK_NEVER : FETCH_PACK_ALWAYS;
    if (data[0] % 3 == 0)
        face_a_client(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        face_a_server(data + 1, size - 1);
    else
        change_answers(data + 1, size - 1);
    return 0;
}
