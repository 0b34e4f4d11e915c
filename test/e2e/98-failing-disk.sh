#!/bin/bash
# A host whose disk fails, whose disk is full, whose journal is damaged or an older one.
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG
is() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'" && false; }; }

# host NAME WORD...: starts `weft host` with the journal NAME by env WORD..., waits until it is ready.
host() {
    local name=$1
    shift
    rm -f "$name.port"
    env "$@" "$WEFT" host --listen "localhost:${port:-0}" --journal "$PWD/$name" \
        --port-file "$name.port" >/dev/null 2>"$name.err" &
    pid=$!
    until [ -s "$name.port" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    port=$(cat "$name.port" 2>/dev/null)
    export WEFT_AT=localhost:$port
}
trap 'kill $pid 2>/dev/null; cleanup' EXIT

# --- an input/output error -------------------------------------------------------------------------------

disk_of() { echo LD_PRELOAD="$E2E_TOOLS/ioerror.so" WEFT_IOERROR_DIR="$PWD/$1" WEFT_IOERROR_WHEN="$PWD/$1.when"; }

if is_sanitized; then
    skip "disks that fail" "a sanitizer wants to be the first library that is loaded"
else
    mkdir failing
    # shellcheck disable=SC2046
    host failing $(disk_of failing)
    weft queue push q first second
    echo 1 >failing.when # once
    "$WEFT" queue push q third --wait 20s 2>push.err &
    push=$!
    wait $pid
    check "one input/output error of its journal ends a host, by a failure" is $? 1
    check "it says why" grep -q 'journal can no longer be written: cannot write .*.*input/output error' failing.err
    check "and what to do" grep -q 'try: see that the disk works, then start this again' failing.err
    is "$(grep -c failing failing.err)" 2 || not_ok "it says it once"
    host failing
    wait $push
    check "whoever was not answered goes on when it is started again" is $? 0
    weft queue close q
    check "all that was acknowledged is there, once" is "$(weft queue take q --all | tr '\n' ' ')" "first second third "
    kill $pid
    wait $pid
    port=

    compile own_queue
    # shellcheck disable=SC2046
    weft cluster run --no-prefix --role w=1 --restart 1 --journal "$PWD/own" -- \
        env $(disk_of own) WHEN="$PWD/own.when" ./own_queue >own.out 2>own.err
    check "a member whose disk fails ends by a failure, and is started again" is $? 0
    printf '0 there\nsecond: UNAVAILABLE\nthird: ABORTED\n1 there\n' >expected
    same "calls to what it hosts fail, and what was acknowledged is there" expected own.out
    check "it says why" grep -q 'journal can no longer be written: cannot write .*own.w-0' own.err
fi
finish
