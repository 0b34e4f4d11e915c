// A member's connections to others, and the errors of its calls. Nothing here joins, listens or reads a file, so that
// simulators run it as it is.

#include "client/member.h"

#include <stdio.h>
#include <stdlib.h>

#include "client/keeper.h"
#include "sys/log.h"

enum { STDERR = 2 };

void member_say(void *owner, const char *sentence)
{
    weft_cluster *cluster = owner;
    struct buf line = {0};
    buf_format(&line, "weft: %s%s%s\n", cluster->me, cluster->me[0] ? ": " : "", sentence);
    log_lines(STDERR, line.data, line.size);
    buf_fini(&line);
}

// Adds to the sentence of a host that is out of reach how one is started.
static weft_err explain(const weft_cluster *cluster, weft_err err)
{
    char sentence[ERR_TEXT_BYTES_MAX], address[NET_ADDRESS_TEXT_BYTES];
    if (err != WEFT_UNAVAILABLE || !cluster->is_program || strchr(err_text(), '\n'))
        return err;
    snprintf(sentence, sizeof sentence, "%s", err_text());
    net_write_address(&cluster->at, address);
    return err_set(err, "%s\n  try: weft host --listen %s there, or another address", sentence,
                   address);
}

weft_err member_keep_error(weft_cluster *cluster, weft_err code)
{
    if (!code || !cluster)
        return code;
    explain(cluster, code);
    mutex_lock(&cluster->lock);
    if (!cluster->first_error) {
        cluster->first_error = code;
        snprintf(cluster->first_sentence, sizeof cluster->first_sentence, "%s", err_text());
    }
    mutex_unlock(&cluster->lock);
    return code;
}

// ---- Who is who -----------------------------------------------------------------------------------------

bool weft_member_is(const weft_cluster *cluster, const char *role)
{
    return cluster && role && strcmp(weft_member_role(cluster), role) == 0;
}

const char *weft_member_role(const weft_cluster *cluster)
{
    return cluster && cluster->spec.my_role ? cluster->spec.my_role : "";
}

uint32_t weft_member_index(const weft_cluster *cluster)
{
    return cluster ? cluster->spec.my_index : 0;
}

uint32_t weft_member_count(const weft_cluster *cluster, const char *name)
{
    const struct cluster_role *role =
        cluster && name ? cluster_spec_find_role(&cluster->spec, name) : NULL;
    return role ? (uint32_t)role->members.count : 0;
}

// ---- Others -----------------------------------------------------------------------------------------------

static bool tend_peer(void *owner)
{
    return keeper_arm(owner);
}

struct peer *member_make_peer(weft_cluster *cluster, const char *name,
                              const struct cluster_member *member, uint32_t patience_ms)
{
    struct peer_options options = {
        .address = {.port = member->port},
        .host = name,
        .member = cluster->me,
        .incarnation = cluster->incarnation,
        .token = &cluster->token,
        .patience_ms = patience_ms,
        .patience_again_ms = cluster->patience_again_ms,
        .waits = patience_ms ? member_say : NULL,
        .asks_to_be_tended = tend_peer,
        .owner = cluster,
    };
    snprintf(options.address.host, sizeof options.address.host, "%s", member->host);
    if (cluster->local && strcmp(name, cluster->me) == 0) {
        options.port = &host_local_port;
        options.port_owner = cluster->local;
    }
    return peer_new(&options);
}

static struct member_link *find_link(const weft_cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->links.count; i++)
        if (strcmp(cluster->links.items[i]->name, name) == 0)
            return cluster->links.items[i];
    return NULL;
}

static weft_err add_link(weft_cluster *cluster, const char *name,
                         const struct cluster_member *member, struct member_link **made)
{
    struct member_link *link = calloc(1, sizeof *link);
    struct peer *peer = member_make_peer(cluster, name, member, cluster->patience_ms);
    if (!link || !peer || !VEC_PUSH(&cluster->links, link)) {
        free(link);
        peer_free(peer, false);
        return err_no_memory("for a connection");
    }
    snprintf(link->name, sizeof link->name, "%s", name);
    link->peer = peer;
    *made = link;
    return WEFT_OK;
}

weft_err member_find_peer_at(weft_cluster *cluster, const char *name,
                             const struct cluster_member *member, struct peer **peer)
{
    weft_err err = WEFT_OK;
    mutex_lock(&cluster->lock);
    struct member_link *link = find_link(cluster, name);
    if (!link)
        err = add_link(cluster, name, member, &link);
    mutex_unlock(&cluster->lock);
    if (!err)
        *peer = link->peer;
    return err;
}

weft_err member_find_peer(weft_cluster *cluster, const char *role, uint32_t index,
                          struct peer **peer)
{
    weft_err err = cluster_spec_check_member(&cluster->spec, role, index);
    if (err)
        return err;
    const struct cluster_member *member = cluster_spec_find_member(&cluster->spec, role, index);
    struct buf name = {0};
    member_path_append(&name, role, index);
    if (!member || !member->host)
        err = err_set(WEFT_FAILED_PRECONDITION, "%s has no address, it hosts nothing",
                      buf_text(&name));
    else
        err = member_find_peer_at(cluster, buf_text(&name), member, peer);
    buf_fini(&name);
    return err;
}

bool member_has_spoken_to(const weft_cluster *cluster, const char *name)
{
    const struct member_link *link = find_link(cluster, name);
    return link && peer_has_spoken(link->peer);
}
