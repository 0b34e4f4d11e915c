#!/bin/bash
# --memory of a client is a promise for all its processes: the one that joins, its worker, and what that starts.
. "$(dirname "$0")/lib.sh"

export WEFT_TOKEN=000102030405060708090a0b0c0d0e0f
generate lines 1500000 321 >distinct # 49 MB
sort -S 1G --parallel=2 distinct >sorted
mkdir empty

open_server() {
    rm -f port
    "$WEFT" server -q --listen localhost:0 --port-file port --timeout 90s "$@" >"$out" 2>"$err" &
    server=$!
    until [ -s port ] || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
    at=$(cat port)
}

# join NUMBER WORD...: a client of which $dir/peak.NUMBER has the most memory at a time, in KiB.
join() {
    local number=$1
    shift
    corral -m "$dir/peak.$number" -l "$left" -- "${inside[@]}" "$WEFT" client -q --tmp "$dir/tmp" "$@" "$at" >"$dir/client.$number" 2>&1 &
}

# within SENTENCE MIB SLOTS WORD...: two clients do it, with the right answer, and keep to their memory.
within() {
    local sentence=$1 mib=$2 slots=$3 number peak
    shift 3
    open_server "$@"
    for number in 1 2; do join $number --memory "${mib}M" -n "$slots"; done
    wait
    same "$sentence: the answer" sorted "$out"
    for number in 1 2; do
        peak=$(cat "$dir/peak.$number")
        if is_sanitized; then
            skip "$sentence: the promise" "a sanitizer needs memory of its own"
        else
            check "$sentence: client $number used $((peak / 1024)) of $mib MiB" [ "$peak" -le $((mib * 1024 * 11 / 10)) ]
        fi
    done
}

mkdir -p "$dir/tmp"
inside=()
within "sort of 49 MB" 32 1 sort distinct
within "sort of 49 MB with 2 slots" 64 2 sort distinct
within "sort by a command of 49 MB" 64 2 --map cat --reduce cat distinct
if is_root && unshare -m true 2>/dev/null; then
    mkdir -p away && mv distinct away/
    inside=(unshare -m bash -c 'mount --bind empty away && exec "$@"' -)
    within "sort of 49 MB that the server has" 32 1 sort away/distinct
else
    skip "sort of what the server has" "it needs root"
fi
nothing_left "what was spilled is gone"

finish
