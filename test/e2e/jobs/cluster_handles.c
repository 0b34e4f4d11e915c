// cluster_handles COUNT: opens and frees so many handles, one after the other, in one session.
// Says on stderr what is not so, and exits with 1 then.

#include "cluster_api.h"

int main(int argc, char **argv)
{
    const long count = argc > 1 ? atol(argv[1]) : 0;
    weft_cluster *cluster = weft_join(NULL);
    weft_var *total = weft_var_open(cluster, "/one/0/total");
    for (long i = 0; i < count && failed_count == 0; i++) {
        weft_kv *kv = weft_kv_open(cluster, i % 2 ? "/one/0/odd" : "/one/0/even");
        CLAIM(kv);
        weft_kv_free(kv);
    }
    int64_t now = 0;
    GIVES(OK, weft_var_add(total, 1, NULL, &now));
    CLAIM(now == 1);
    weft_var_free(total);
    return weft_leave(cluster) || failed_count > 0;
}
