// address: strict, as a wrong address shows itself only minutes later, on another machine, as silence.

#include "cluster/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <strings.h>

#include "cluster/role.h"

#define FORM "  an address is HOST:PORT, such as localhost:2222, 192.168.0.10:2222 or [::1]:2222"

enum { PORT_MAX = 65535 };

static weft_err is_wrong(weft_bytes text, const char *why)
{
    return err_set(WEFT_INVALID_ARGUMENT, "the address %s %s\n" FORM, role_quote(text).text, why);
}

// Words that people write instead of an address, with their names.
static const char *find_mistake(weft_bytes text)
{
    if (text.size == 0)
        return "is empty";
    const char *colon = memchr(text.data, ':', text.size);
    if (memmem(text.data, text.size, "://", 3))
        return "names a protocol: leave out the part before the host";
    if (memchr(text.data, '/', text.size))  // unix:/run/x too, whereas unix:2222 is a host
        return "is a path: members meet at hosts and ports";
    if (colon && text.data[0] != '[' &&
        memchr(colon + 1, ':', text.size - (size_t)(colon + 1 - text.data)))
        return "has more than one ':': an IPv6 host stands in brackets";
    return NULL;
}

static bool is_host_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

// A name, or four numbers. A text that looks like numbers must be an address: 10.0.0.256 is not a name.
static const char *check_name(const char *host)
{
    struct in_addr ignored;
    bool has_letter = false;
    for (const char *c = host; *c; c++) {
        if (!is_host_letter(*c))
            return "has a host with letters that no host name has";
        has_letter = has_letter || !strchr("0123456789.", *c);
    }
    if (!*host)
        return "has no host";
    if (strstr(host, "..") || strchr("-.", *host))
        return "has a host that is not a host name";
    if (!has_letter && inet_pton(AF_INET, host, &ignored) != 1)
        return "has a host of numbers that is not an IPv4 address";
    return NULL;
}

// The part before a zone (fe80::1%eth0) is the address.
static bool read_ipv6(const char *host, struct in6_addr *bits, const char **zone)
{
    char plain[INET6_ADDRSTRLEN] = "";
    const size_t length = strcspn(host, "%");
    *zone = host + length;
    if (length >= sizeof plain)
        return false;
    memcpy(plain, host, length);
    return inet_pton(AF_INET6, plain, bits) == 1;
}

static const char *check_ipv6(const char *host)
{
    struct in6_addr ignored;
    const char *zone;
    if (!read_ipv6(host, &ignored, &zone))
        return "has no IPv6 address between its brackets";
    bool is_zone_fine = *zone != '%' || zone[1];
    for (const char *c = *zone ? zone + 1 : zone; *c; c++)
        is_zone_fine = is_zone_fine && is_host_letter(*c);
    return is_zone_fine ? NULL : "has an IPv6 zone that names no interface";
}

static const char *read_port(weft_bytes text, uint16_t *port)
{
    uint32_t value;
    if (text.size == 0)
        return "ends with ':': leave it out for port 2222";
    if (!role_read_index(text, &value) || value > PORT_MAX)
        return "has a port that is not a number from 0 to 65535";
    *port = (uint16_t)value;
    return NULL;
}

// Cuts the text into its host (without brackets) and the rest; NULL, or the reason of a refusal.
static const char *cut_host(weft_bytes text, weft_bytes *host, weft_bytes *rest)
{
    const bool is_bracketed = text.data[0] == '[';
    const char *end = memchr(text.data, is_bracketed ? ']' : ':', text.size);
    if (is_bracketed && !end)
        return "lacks the closing ']'";
    if (!end)
        end = text.data + text.size;
    *host = (weft_bytes){text.data + is_bracketed, (size_t)(end - text.data) - is_bracketed};
    end += is_bracketed;
    *rest = (weft_bytes){end, text.size - (size_t)(end - text.data)};
    if (rest->size > 0 && *rest->data != ':')
        return "continues after its ']' without a ':'";
    return host->size > ADDRESS_HOST_BYTES_MAX ? "has a host that is too long for a host name"
                                               : NULL;
}

weft_err address_parse(weft_bytes text, struct address *address)
{
    weft_bytes host = {0}, rest = {0};
    const char *why = find_mistake(text);
    if (!why)
        why = cut_host(text, &host, &rest);
    if (!why && memchr(host.data, 0, host.size))
        why = "has a host with letters that no host name has";
    if (why)
        return is_wrong(text, why);
    memcpy(address->host, host.data, host.size);
    address->host[host.size] = 0;
    address->port = ADDRESS_PORT_DEFAULT;
    why = text.data[0] == '[' ? check_ipv6(address->host) : check_name(address->host);
    if (!why && rest.size > 0)
        why = read_port((weft_bytes){rest.data + 1, rest.size - 1}, &address->port);
    return why ? is_wrong(text, why) : WEFT_OK;
}

void address_append(struct buf *buf, const char *host, uint16_t port)
{
    const bool is_ipv6 = strchr(host, ':');
    buf_format(buf, is_ipv6 ? "[%s]:%u" : "%s:%u", host, port);
}

int address_compare_hosts(const char *a, const char *b)
{
    struct in6_addr a_bits, b_bits;
    const char *a_zone, *b_zone;
    const bool a_is_ipv6 = strchr(a, ':') && read_ipv6(a, &a_bits, &a_zone);
    const bool b_is_ipv6 = strchr(b, ':') && read_ipv6(b, &b_bits, &b_zone);
    if (a_is_ipv6 != b_is_ipv6)
        return a_is_ipv6 ? 1 : -1;
    if (!a_is_ipv6)
        return strcasecmp(a, b);
    const int order = memcmp(&a_bits, &b_bits, sizeof a_bits);
    return order ? order : strcmp(a_zone, b_zone);
}
