// Records of a fixed number of bytes.

#include "store/record/formats.h"

weft_err fixed_cut(uint32_t fixed_bytes, struct cut *cut)
{
    const size_t size = cut->text.size - cut->text.size % fixed_bytes;
    const size_t count =
        (cut->limit - 1) / fixed_bytes;  // this many begin before the limit, and one more
    const bool is_limited = size / fixed_bytes > count;
    const size_t whole = is_limited ? (count + 1) * fixed_bytes : size;
    cut_here(cut, whole, whole >= cut->limit || (cut->is_end && whole == cut->text.size));
    if (whole == 0 && cut->is_end)
        return err_set(
            WEFT_DATA_LOSS,
            "%zu bytes are left at the end of the file, but a record has %u: the file was "
            "cut off, or has records of another size\n  try: --format fixed:SIZE, or fetch the "
            "file again",
            cut->text.size, (unsigned)fixed_bytes);
    return WEFT_OK;
}
