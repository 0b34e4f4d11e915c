// Addresses as people write them: texts only, nothing is asked of the network.

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "sys/net/net_state.h"

static bool is_name(const char *host)
{
    for (const char *at = host; *at; at++) {
        const bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        if (!is_letter && !(*at >= '0' && *at <= '9') && !strchr(".-_", *at))
            return false;
    }
    return true;
}

// An IPv6 address, perhaps followed by an interface: fe80::1%eth0.
static bool is_number6(const char *host)
{
    char number[INET6_ADDRSTRLEN];
    struct in6_addr bits;
    const size_t size = strcspn(host, "%");
    if (size >= sizeof number || (host[size] == '%' && !host[size + 1]))
        return false;
    memcpy(number, host, size);
    number[size] = 0;
    return inet_pton(AF_INET6, number, &bits) == 1;
}

static bool read_port(const char *text, uint16_t *port)
{
    unsigned value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return false;
        value = value * 10 + (unsigned)(*text - '0');
        if (value > UINT16_MAX)
            return false;
    }
    *port = (uint16_t)value;
    return true;
}

// Cuts the text into host and port; *port is NULL when there is none. False: its form is wrong.
static bool split_address(char *text, char **host, const char **port)
{
    *host = text;
    *port = NULL;
    if (text[0] == '[') {
        char *end = strchr(text, ']');
        if (!end || (end[1] && end[1] != ':'))
            return false;
        *host = text + 1;
        *port = end[1] ? end + 2 : NULL;
        *end = 0;
        return is_number6(*host);
    }
    if (is_number6(text))
        return true;
    char *colon = strchr(text, ':');
    if (colon) {
        *port = colon + 1;
        *colon = 0;
    }
    return is_name(*host) && (**host || *port);
}

weft_err net_read_address(const char *text, uint16_t default_port, struct net_address *address)
{
    char copy[sizeof address->host + 8], *host = copy;
    const char *port = NULL;
    struct net_address read = {.port = default_port};
    const size_t size = strlen(text);
    if (size < sizeof copy)
        memcpy(copy, text, size + 1);
    if (size >= sizeof copy || !split_address(copy, &host, &port) ||
        strlen(host) >= sizeof read.host)
        return err_set(
            WEFT_INVALID_ARGUMENT,
            "\"%.100s\" is not an address\n  try: name:2222, 10.0.0.5:2222, [::1]:2222, or "
            ":2222 for all interfaces",
            text);
    if (port && !read_port(port, &read.port)) {
        const char *why = *port ? " is not a port" : "it has no port after its colon";
        return err_set(WEFT_INVALID_ARGUMENT,
                       "\"%.100s\": %.20s%s\n  try: a port from 1 to 65535 (0, to listen: any that "
                       "is free)",
                       text, port, why);
    }
    memcpy(read.host, host, strlen(host) + 1);
    *address = read;
    return WEFT_OK;
}

void net_write_address(const struct net_address *address, char text[NET_ADDRESS_TEXT_BYTES])
{
    const bool needs_brackets = strchr(address->host, ':') != NULL;
    snprintf(text, NET_ADDRESS_TEXT_BYTES, needs_brackets ? "[%s]:%u" : "%s:%u", address->host,
             address->port);
}

// ---- This machine ----------------------------------------------------------------------------------

bool net_is_localhost(const char *host)
{
    return strcasecmp(host, "localhost") == 0 || strcasecmp(host, "localhost.") == 0;
}

static bool is_loopback4(struct in_addr bits)
{
    return ntohl(bits.s_addr) >> 24 == 127;
}

static bool is_loopback6(const struct in6_addr *bits)
{
    return IN6_IS_ADDR_LOOPBACK(bits) || (IN6_IS_ADDR_V4MAPPED(bits) && bits->s6_addr[12] == 127);
}

bool net_address_is_loopback(const struct net_address *address)
{
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, address->host, &four) == 1)
        return is_loopback4(four);
    if (inet_pton(AF_INET6, address->host, &six) == 1)
        return is_loopback6(&six);
    return net_is_localhost(address->host);
}
