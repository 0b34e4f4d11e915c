// Fuzzes the reader of manifests: it refuses or understands, and what it understood is written and
// read back the same.
#include "store/manifest.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest manifest = {0}, again = {0};
    const weft_err err = manifest_parse(&manifest, (weft_bytes){(const char *)data, size});
    ASSERT(err == WEFT_OK || *err_text());
    if (!err) {
        struct buf first = {0}, second = {0};
        manifest_format(&first, &manifest);
        ASSERT(manifest_parse(&again, buf_bytes(&first)) == WEFT_OK);
        ASSERT(again.part_count == manifest.part_count && again.bytes == manifest.bytes);
        manifest_format(&second, &again);
        ASSERT(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        buf_fini(&first);
        buf_fini(&second);
    }
    manifest_fini(&again);
    manifest_fini(&manifest);
    return 0;
}
