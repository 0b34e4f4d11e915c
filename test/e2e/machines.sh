# For tests of servers and their clients, after lib.sh: starting both on this machine, and waiting for them.
#
#   server_input             what a server reads (default: nothing)
#   server_out, server_err   where its answer and its messages go (default: $out and $err)
#   server_log               instead: messages of all servers, one after the other, and no answer
#   client_talk              options of clients (default -q)
# shellcheck shell=bash disable=SC2034

export WEFT_TOKEN=000102030405060708090a0b0c0d0e0f
clients=()

# await CONDITION: until it is so, a minute at most.
await() {
    local i
    for ((i = 0; i < 3000; i++)); do
        eval "$1" && return 0
        sleep 0.02
    done
    note <<<"in vain: $1"
    return 1
}

# open_server WORD...: starts a server; $server is its process, $at its address. A shell lets its jobs ignore SIGINT.
open_server() {
    local answer=/dev/null messages=${server_log:-}
    [ -n "$messages" ] || { answer=${server_out:-$out} messages=${server_err:-$err} && : >"$messages"; }
    rm -f port
    env --default-signal=INT "$WEFT" server --listen localhost:0 --port-file port "$@" \
        <"${server_input:-/dev/null}" >"$answer" 2>>"$messages" &
    server=$!
    await '[ -s port ] || ! kill -0 $server 2>/dev/null'
    at=$(cat port 2>/dev/null)
}

# join N [OPTION...]: N clients with one slot each; their processes are in $clients, what they say in client.log.
join() {
    local i count=$1
    shift
    for ((i = 0; i < count; i++)); do
        # shellcheck disable=SC2086 # several words, or none
        env --default-signal=INT "$WEFT" client ${client_talk--q} -n 1 "$@" "$at" >>client.log 2>&1 &
        clients+=($!)
    done
}

# all_end: waits for the server (its exit code is $code), then for the clients: $codes are theirs.
all_end() {
    local client
    wait $server
    code=$?
    codes=
    for client in "${clients[@]}"; do
        wait "$client"
        codes+="$? "
    done
    clients=()
}
