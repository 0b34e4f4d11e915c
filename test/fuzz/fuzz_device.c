// Fuzzes the paths: device names, members, resources, and addresses and --role beside them. What is
// taken has a canonical form that is taken again and stays as it is.
#include "cluster/device.h"

#include <stdint.h>
#include <stdlib.h>

#include "cluster/address.h"
#include "cluster/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_device(weft_bytes text)
{
    struct device device, again, merged;
    struct buf first = {0}, second = {0};
    if (device_parse(text, &device) == WEFT_OK) {
        device_append(&first, &device);
        ASSERT(device_parse(buf_bytes(&first), &again) == WEFT_OK);
        device_append(&second, &again);
        ASSERT(strcmp(buf_text(&first), buf_text(&second)) == 0);
        ASSERT(device_matches(&again, &device));
        merged = device;
        ASSERT(device_merge(&merged, &again, DEVICE_MERGE_STRICT) == WEFT_OK);
        ASSERT(device_matches(&device, &merged) && device_matches(&merged, &device));
    } else {
        ASSERT(*err_text());
    }
    if (device_parse_local(text, &device) == WEFT_OK) {
        first.size = 0;
        device_append_local(&first, &device);
        ASSERT(device_parse_local(buf_bytes(&first), &again) == WEFT_OK);
        ASSERT(device_matches(&device, &again));
    }
    buf_fini(&first);
    buf_fini(&second);
}

static void check_paths(const char *text)
{
    struct member_path member, member_again;
    struct resource_path resource, again;
    struct buf buf = {0};
    const bool is_member = member_path_parse(text, &member) == WEFT_OK;
    const bool is_resource = resource_path_parse(text, &resource) == WEFT_OK;
    ASSERT(!is_member || !is_resource);
    if (is_member) {
        member_path_append(&buf, member.role, member.index);
        ASSERT(member_path_parse(buf_text(&buf), &member_again) == WEFT_OK);
        ASSERT(strcmp(member.role, member_again.role) == 0 && member.index == member_again.index);
    }
    if (is_resource) {
        ASSERT(resource_name_check(resource.name) == WEFT_OK);
        resource_path_append(&buf, resource.role, resource.index, resource.name);
        ASSERT(resource_path_parse(buf_text(&buf), &again) == WEFT_OK);
        ASSERT(strcmp(resource.role, again.role) == 0 && resource.index == again.index);
        ASSERT(strcmp(resource.name, again.name) == 0);
    }
    buf_fini(&buf);
}

static void check_address(weft_bytes text)
{
    struct address address, again;
    struct buf buf = {0};
    if (address_parse(text, &address) != WEFT_OK)
        return;
    address_append(&buf, address.host, address.port);
    ASSERT(address_parse(buf_bytes(&buf), &again) == WEFT_OK);
    ASSERT(strcmp(address.host, again.host) == 0 && address.port == again.port);
    ASSERT(address_compare_hosts(address.host, again.host) == 0);
    buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cluster_spec spec = {0};
    char *text = strndup((const char *)data, size);
    ASSERT(text);
    check_device((weft_bytes){(const char *)data, size});
    check_paths(text);
    check_address((weft_bytes){(const char *)data, size});
    if (cluster_spec_add_flag(&spec, text) == WEFT_OK)
        ASSERT(cluster_spec_count_members(&spec) > 0);
    cluster_spec_fini(&spec);
    free(text);
    return 0;
}
