// Reading /ws/v1/cluster/info.

#include "launch/yarn/yarn_info.h"

#include <stdio.h>

#include <jansson.h>

weft_err yarn_info_read(weft_bytes text, char version[YARN_VERSION_BYTES])
{
    json_error_t ignored;
    json_t *root = json_loadb(text.data ? text.data : "", text.size, 0, &ignored);
    const json_t *info = json_object_get(root, "clusterInfo");
    const char *value = json_string_value(json_object_get(info, "resourceManagerVersion"));
    snprintf(version, YARN_VERSION_BYTES, "%s", value ? value : "");
    for (char *at = version; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            *at = '_';
    json_decref(root);
    return value ? WEFT_OK
                 : err_set(WEFT_DATA_LOSS, "a web server answers there, but no resource manager's");
}
