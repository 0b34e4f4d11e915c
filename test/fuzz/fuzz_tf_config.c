// Fuzzes the readers of cluster descriptions: they refuse with a sentence or understand, and what they
// understood is written, in both layouts, and read back the same.
#include "cluster/spec.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef weft_err read_fn(struct cluster_spec *spec, weft_bytes text, const char *source);

static void check(weft_bytes text, read_fn *read, enum cluster_layout layout)
{
    struct cluster_spec spec = {0}, again = {0};
    struct buf first = {0}, second = {0};
    const weft_err err = read(&spec, text, "TF_CONFIG");
    ASSERT(err != WEFT_INVALID_ARGUMENT || strncmp(err_text(), "TF_CONFIG: ", 11) == 0);
    ASSERT(!err || (spec.roles.count == 0 && !spec.my_role && !spec.rest));
    if (!err) {
        const char *role = spec.my_role;
        ASSERT(cluster_spec_write_tf_config(&first, &spec, role, spec.my_index, layout) == WEFT_OK);
        ASSERT(layout == CLUSTER_INDENTED || !memchr(first.data, ' ', first.size));
        ASSERT(cluster_spec_read_tf_config(&again, buf_bytes(&first), "again") == WEFT_OK);
        ASSERT(!role || (strcmp(again.my_role, role) == 0 && again.my_index == spec.my_index));
        ASSERT(cluster_spec_count_members(&again) == cluster_spec_count_members(&spec));
        ASSERT(cluster_spec_write_tf_config(&second, &again, role, spec.my_index, layout) ==
               WEFT_OK);
        ASSERT(first.size == second.size && memcmp(first.data, second.data, first.size) == 0);
        (void)cluster_spec_is_chief(&spec);
    }
    buf_fini(&first);
    buf_fini(&second);
    cluster_spec_fini(&spec);
    cluster_spec_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const weft_bytes text = {(const char *)data, size};
    check(text, cluster_spec_read_tf_config, CLUSTER_COMPACT);
    check(text, cluster_spec_read_file, CLUSTER_INDENTED);
    return 0;
}
