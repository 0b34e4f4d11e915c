// Requests in their order; a block is read straight into the buffer that is sent.

#include "transport/fetch_serve.h"

#include <inttypes.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sys/file/file.h"

void fetch_serve_fini(struct fetch_serve *serve)
{
    free(serve->requests);
    fetch_pack_fini(&serve->pack);
    *serve = (struct fetch_serve){.files = serve->files};
}

// ---- What a client sends ------------------------------------------------------------------------------------

static weft_err receive_request(struct fetch_serve *serve, weft_bytes payload)
{
    if (serve->count == FETCH_REQUESTS_MAX)
        return err_set(WEFT_RESOURCE_EXHAUSTED, "it asks for more than %d things at once",
                       FETCH_REQUESTS_MAX);
    if (!serve->requests)
        serve->requests = calloc(FETCH_REQUESTS_MAX, sizeof *serve->requests);
    if (!serve->requests)
        return err_no_memory("for the requests of a client");
    memcpy(&serve->requests[(serve->first + serve->count++) % FETCH_REQUESTS_MAX], payload.data,
           FETCH_REQUEST_BYTES);
    return WEFT_OK;
}

static weft_err receive_credit(struct fetch_serve *serve, weft_bytes payload)
{
    uint64_t bytes;
    memcpy(&bytes, payload.data, sizeof bytes);
    if (bytes > UINT64_MAX - serve->credit)
        return err_set(WEFT_DATA_LOSS, "it gives more credit than there is");
    serve->credit += bytes;
    return WEFT_OK;
}

weft_err fetch_serve_receive(struct fetch_serve *serve, const struct frame *frame)
{
    const size_t size = frame->payload.size;
    if (frame->type == WEFT__FRAME_TYPE__FRAME_FETCH && size == FETCH_REQUEST_BYTES)
        return receive_request(serve, frame->payload);
    if (frame->type == WEFT__FRAME_TYPE__FRAME_FETCH_CREDIT && size == FETCH_CREDIT_BYTES)
        return receive_credit(serve, frame->payload);
    return err_set(WEFT_DATA_LOSS, "it sent a frame of type %d and %zu bytes that asks for nothing",
                   (int)frame->type, size);
}

// ---- Answers ------------------------------------------------------------------------------------------------

static void next_request(struct fetch_serve *serve)
{
    serve->first = (serve->first + 1) % FETCH_REQUESTS_MAX;
    serve->count--;
}

// For this thread's reason.
static void put_failure(struct fetch_serve *serve, weft_err code, struct buf *out)
{
    const struct fetch_request *request = &serve->requests[serve->first];
    const uint32_t number = (uint32_t)code;
    const char *sentence = err_text();
    const size_t length = strnlen(sentence, FETCH_SENTENCE_BYTES_MAX);
    uint8_t header[FRAME_HEADER_BYTES];
    frame_encode_header(header, WEFT__FRAME_TYPE__FRAME_FETCH_FAILED,
                        FETCH_FAILED_HEAD_BYTES + length);
    buf_append(out, header, sizeof header);
    buf_append(out, &request->request, 8);
    buf_append(out, &number, 4);
    buf_append(out, sentence, length);
    err_clear();
    next_request(serve);
}

static weft_err check(const struct fetch_file *file, const struct fetch_request *request)
{
    if (request->offset > file->size || request->size > file->size - request->offset)
        return err_set(WEFT_OUT_OF_RANGE, "%s has %" PRIu64 " bytes, not %" PRIu64 " at %" PRIu64,
                       file->name, file->size, request->size, request->offset);
    return WEFT_OK;
}

static weft_err read_block(const struct fetch_files *files, const struct fetch_file *file,
                           const struct fetch_request *request, char *to, size_t size)
{
    size_t got = 0;
    const weft_err code = file_read_at(file->fd, file->name, to, size, request->offset, &got);
    if (code || got == size)
        return code ? code : fetch_files_check(files, file);
    // The owner of the file may know why.
    if (fetch_files_check(files, file) != WEFT_OK)
        return WEFT_DATA_LOSS;
    return err_set(WEFT_DATA_LOSS, "%s ends at %" PRIu64 ", and should have %" PRIu64 " bytes",
                   file->name, request->offset + got, file->size);
}

// A block was read to its place in `out`; it stays there, or its compressed bytes take its place.
static void put_data(struct fetch_serve *serve, struct buf *out, char *room, size_t size)
{
    const struct fetch_request *request = &serve->requests[serve->first];
    const char *data = room + FRAME_HEADER_BYTES + FETCH_BLOCK_HEAD_BYTES;
    const struct fetch_block block = {request->request, request->offset, XXH3_64bits(data, size)};
    const size_t packed =
        fetch_pack_is_due(&serve->pack) ? fetch_pack_block(&serve->pack, data, size) : 0;
    const size_t head = packed ? FETCH_PACKED_HEAD_BYTES : FETCH_BLOCK_HEAD_BYTES;
    const size_t payload = head + (packed ? packed : size);
    const uint32_t plain_size = (uint32_t)size;
    frame_encode_header((uint8_t *)room,
                        packed ? WEFT__FRAME_TYPE__FRAME_FETCH_PACKED
                               : WEFT__FRAME_TYPE__FRAME_FETCH_BLOCK,
                        payload);
    memcpy(room + FRAME_HEADER_BYTES, &block, sizeof block);
    if (packed) {
        memcpy(room + FRAME_HEADER_BYTES + sizeof block, &plain_size, sizeof plain_size);
        memcpy(room + FRAME_HEADER_BYTES + head, serve->pack.room, packed);
    }
    out->size += FRAME_HEADER_BYTES + payload;
}

static void put_block(struct fetch_serve *serve, struct buf *out)
{
    struct fetch_request *request = &serve->requests[serve->first];
    const struct fetch_file *file;
    uint64_t most = request->size < serve->credit ? request->size : serve->credit;
    const size_t block_bytes = serve->block_bytes ? serve->block_bytes : FETCH_BLOCK_BYTES;
    const size_t size = most < block_bytes ? (size_t)most : block_bytes;
    const size_t head = FRAME_HEADER_BYTES + FETCH_BLOCK_HEAD_BYTES;
    weft_err code = fetch_files_find(serve->files, request->file, &file);
    if (!code)
        code = check(file, request);
    char *room =
        code ? NULL : buf_reserve(out, FRAME_HEADER_BYTES + FETCH_PACKED_HEAD_BYTES + size);
    if (!code)
        code = room ? read_block(serve->files, file, request, room + head, size)
                    : WEFT_RESOURCE_EXHAUSTED;
    if (code) {
        put_failure(serve, code, out);
        return;
    }
    put_data(serve, out, room, size);
    serve->credit -= size;
    serve->data_bytes += size;
    request->offset += size;
    request->size -= size;
    if (request->size == 0)
        next_request(serve);
}

// A request of nothing, or one that will fail, needs no credit.
bool fetch_serve_has_more(const struct fetch_serve *serve)
{
    if (!serve->count)
        return false;
    const struct fetch_request *request = &serve->requests[serve->first];
    if (serve->credit || !request->size)
        return true;
    const struct fetch_file *file;
    const bool will_fail = fetch_files_find(serve->files, request->file, &file) != WEFT_OK;
    if (will_fail)
        err_clear();
    return will_fail;
}

void fetch_serve_put(struct fetch_serve *serve, struct buf *out, size_t bytes_max)
{
    while (out->size < bytes_max && !out->has_failed && fetch_serve_has_more(serve))
        put_block(serve, out);
}
