// Where the inputs that are URLs lie, in words that mean the same on every machine: a client has perhaps another configuration of
// Hadoop, or none, as in a container.

#include <stdlib.h>

#include "run/driver/plan.h"
#include "store/hdfs/site.h"
#include "store/hdfs/url.h"

static bool is_known(const struct run_plan *plan, weft_bytes authority)
{
    for (size_t i = 0; i < plan->file_systems.count; i++) {
        const char *known = plan->file_systems.items[i].authority;
        if (strlen(known) == authority.size && memcmp(known, authority.data, authority.size) == 0)
            return true;
    }
    return false;
}

// One that cannot be said in a URL is not sent: clients look into their own configuration then.
static weft_err add(struct run_plan *plan, weft_bytes authority)
{
    struct run_file_system one = {.authority = strndup(authority.data, authority.size)};
    struct buf nodes = {0};
    struct site site;
    if (!one.authority)
        return err_no_memory("for an address of HDFS");
    weft_err code = site_find(one.authority, &site);
    if (code == WEFT_OK && site_write(&site, &nodes) && nodes.size < HDFS_AUTHORITY_BYTES)
        one.nodes = nodes.has_failed ? NULL : strdup(buf_text(&nodes));
    else if (code == WEFT_OK)
        one.nodes = strdup(one.authority);
    buf_fini(&nodes);
    if (code == WEFT_OK && one.nodes && VEC_PUSH(&plan->file_systems, one))
        return WEFT_OK;
    free(one.authority);
    free(one.nodes);
    return code == WEFT_OK ? err_no_memory("for an address of HDFS") : code;
}

weft_err run_plan_find_file_systems(struct run_plan *plan)
{
    weft_err code = WEFT_OK;
    for (size_t i = 0; i < plan->inputs.count && code == WEFT_OK; i++) {
        const char *path = plan->inputs.items[i].path;
        if (hdfs_is_url(path) && !is_known(plan, hdfs_url_authority(path)))
            code = add(plan, hdfs_url_authority(path));
    }
    return code;
}

void run_plan_free_file_systems(struct run_plan *plan)
{
    for (size_t i = 0; i < plan->file_systems.count; i++) {
        free(plan->file_systems.items[i].authority);
        free(plan->file_systems.items[i].nodes);
    }
    VEC_FINI(&plan->file_systems);
}
