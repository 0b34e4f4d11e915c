// Fuzzes splitting: the input is a row. Every instruction set finds the same fields, and fields written as
// csv are split into the same again.

#include "base/bytes.h"
#include "store/record/scan.h"
#include "sys/machine/cpu.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS_MAX = 128 };

static void check_kernels(weft_bytes row, const struct scan_kernels *kernels)
{
    static weft_bytes expected[FIELDS_MAX], fields[FIELDS_MAX];
    const size_t count = scan_kernels_plain.split(row, ',', expected, FIELDS_MAX);
    ASSERT(kernels->split(row, ',', fields, FIELDS_MAX) == count);
    for (size_t i = 0; count != SIZE_MAX && i < count && i < FIELDS_MAX; i++)
        ASSERT(bytes_equal(fields[i], expected[i]));
    bool is_quoted = false, is_quoted_too = false;
    ASSERT(kernels->find_end(row, &is_quoted) == scan_kernels_plain.find_end(row, &is_quoted_too));
    ASSERT(is_quoted == is_quoted_too);
    ASSERT(kernels->find_last_end(row, is_quoted) ==
           scan_kernels_plain.find_last_end(row, is_quoted));
}

static void append_quoted(struct buf *row, weft_bytes field)
{
    buf_append_text(row, "\"");
    for (size_t i = 0; i < field.size; i++) {
        buf_append(row, field.data + i, 1);
        if (field.data[i] == '"')
            buf_append(row, "\"", 1);
    }
    buf_append_text(row, "\"");
}

static void check_fields(weft_bytes row)
{
    static weft_bytes fields[FIELDS_MAX], again[FIELDS_MAX];
    const struct record_format format = {.kind = RECORD_CSV, .separator = ','};
    struct buf room = {0}, second_room = {0}, joined = {0};
    const size_t count = record_split_csv(&format, row, fields, FIELDS_MAX, &room);
    if (count != SIZE_MAX && count <= FIELDS_MAX) {
        for (size_t i = 0; i < count; i++) {
            buf_append_text(&joined, i ? "," : "");
            append_quoted(&joined, fields[i]);
        }
        ASSERT(record_split_csv(&format, buf_bytes(&joined), again, FIELDS_MAX, &second_room) ==
               count);
        for (size_t i = 0; i < count; i++)
            ASSERT(bytes_equal(fields[i], again[i]));
    }
    buf_fini(&room);
    buf_fini(&second_room);
    buf_fini(&joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const weft_bytes row = {(const char *)data, size};
    check_fields(row);
#if defined(__x86_64__)
    if (cpu_isa() >= CPU_AVX2)
        check_kernels(row, &scan_kernels_avx2);
    if (cpu_isa() >= CPU_AVX512)
        check_kernels(row, &scan_kernels_avx512);
#endif
    check_kernels(row, scan_kernels());
    return 0;
}
