#!/bin/bash
# Clients that cannot reach each other, or that the server cannot reach: three network namespaces on one bridge, and routes that swallow packets.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/namespaces.sh"

if ! can_make_machines; then
    skip "clients behind walls" "only root can make network namespaces, where the kernel has them"
    finish
fi

export WEFT_TOKEN=000102030405060708090a0b0c0d0e0f
seq 1 60000 | sed 's/$/ and some words that make the line longer/' >lines
# Both clients map, and both reduce.
job=(--lines-per-task 5000 --map 'sleep 0.05; cat' --reduce 'sleep 0.1; cat' --shell --reducers 8 lines)
answer "${job[@]}" -o expected/
# cannot_open FROM TO: FROM opens no connections to TO, and answers those of TO to the port of the server.
cannot_open() {
    ip -n "weft$$$1" rule add priority 10 to "${addresses[$2]}" ipproto tcp sport 18125 lookup main &&
        ip -n "weft$$$1" rule add priority 11 to "${addresses[$2]}" blackhole
}

# behind SENTENCE RELAYED WALL...: a job of two clients behind the walls is the same; RELAYED: whether the server passes their map output on.
behind() {
    local sentence=$1 is_relayed=$2 wall
    shift 2
    drop_machines
    make_machines
    for wall; do
        $wall || { skip "$sentence" "the kernel has no rule for ports" && return; }
    done
    rm -rf port got
    in_ns s timeout -k 5 60 "$WEFT" server --timeout 45s --listen "${addresses[s]}:18125" --port-file port "${job[@]}" -o got/ 2>"$err" &
    local server=$! clients=() code codes='' name said
    until [ -s port ] || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
    for name in a b; do
        (cd / && exec ip netns exec "weft$$$name" timeout -k 5 60 "$WEFT" client -n 1 --memory 256M "${addresses[s]}:18125") >"client.$name" 2>&1 &
        clients+=($!)
    done
    wait $server
    code=$?
    for name in "${clients[@]}"; do
        wait "$name"
        codes+="$? "
    done
    # The client that knows it first may do the tasks of the other, which still tries: then one has said it.
    said=$(grep -c 'cannot reach .*: their map output passes through this server' "$err")
    if [ $code = 0 ] && diff -r expected got >diffs && [ "$codes" = "0 0 " ] &&
        { [ $is_relayed = 0 ] || { grep -q '; relayed ' "$err" && grep -q 'of them through the server' client.a client.b; }; } &&
        [ "$said" -ge $((is_relayed > 0)) ] && [ "$said" -le "$is_relayed" ]; then
        ok "$sentence"
    else
        not_ok "$sentence"
        { echo "exit $code; clients $codes" && cat "$err" client.a client.b diffs; } | note
    fi
}

behind "nothing is in the way: nothing is relayed" 0
behind "two clients cannot reach each other: the server passes their map output on" 2 "cannot_reach a b" "cannot_reach b a"
behind "packets of one client to another vanish" 2 "cannot_reach a b"
behind "the server opens no connections to its clients" 0 "cannot_open s a" "cannot_open s b"
behind "clients that open connections to the server only" 2 "cannot_open s a" "cannot_open s b" "cannot_reach a b" "cannot_reach b a"
finish
