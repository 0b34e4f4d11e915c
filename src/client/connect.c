// Connecting to an address. The address may hold the token, so no copy of it is left in memory.

#include "client/connect.h"

#include <stdlib.h>

#include "client/tool.h"

weft_err connect_open(weft_cluster *cluster, const weft_join_options *options)
{
    const size_t size = strlen(options->at);
    char *address = strdup(options->at);
    if (!address)
        return err_no_memory("for an address");
    char *token = strchr(address, '#');
    if (token)
        *token++ = 0;
    cluster->has_at = cluster->is_program = true;
    weft_err err = net_read_address(address, ADDRESS_PORT_OF_HOSTS, &cluster->at);
    if (!err && token && !options->token_file)
        err =
            secret_read(token, &cluster->token)
                ? err_set(WEFT_INVALID_ARGUMENT,
                          "%s: the text after # is not a token\n  a token is 32 to 128 hexadecimal "
                          "digits, as weft host prints it",
                          address)
                : WEFT_OK;
    else if (!err)
        err = secret_load(options->token_file, &cluster->token);
    explicit_bzero(address, size);
    free(address);
    return err;
}

weft_cluster *weft_connect(const char *address)
{
    const char *from_environment = getenv("WEFT_AT");
    const bool has_default = from_environment && *from_environment;
    const weft_join_options options = {
        .at = address       ? address
              : has_default ? from_environment
                            : TOOL_HOST_DEFAULT,
    };
    return weft_join(&options);
}
