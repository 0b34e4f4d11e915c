#!/bin/bash
# A host whose disk fails, whose disk is full, whose journal is damaged or an older one.
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

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

# --- a journal that is taken away ---------------------------------------------------------------------------

gone='journal can no longer be written: .*gone/journal-000001 was removed or moved while it was in use'
host gone
weft queue push q first second
rm -r gone
fails_with "nothing is acknowledged into a journal that was removed" 3 "" weft queue push q third --wait 1s
wait $pid
check "which ends the host, by a failure" is $? 1
check "it says why" grep -q "$gone" gone.err
port=
host gone
mv gone moved
wait $pid
check "so it does when nobody calls" is $? 1
check "and is said" grep -q "$gone" gone.err
mv moved gone
port=
host gone
rm -r gone
kill $pid
wait $pid
check "or at the latest when it ends" is $? 1
check "and is said then" grep -q "$gone" gone.err
port=

# --- a full disk -------------------------------------------------------------------------------------------

mkdir small
if is_root && mount -t tmpfs -o size=400k none "$PWD/small" 2>/dev/null; then
    trap 'kill $pid 2>/dev/null; umount "$dir/work/small"; cleanup' EXIT
    host small
    seq 100000 >numbers
    "$WEFT" queue push q <numbers 2>push.err &
    push=$!
    sentence='waiting for the host at .*: it cannot write its journal: .*no space left on device'
    until grep -q "$sentence" push.err || ! kill -0 $push 2>/dev/null; do sleep 0.05; done
    check "who pushes while the disk is full is told so" grep -q "$sentence" push.err
    check_not "and nothing else" grep -q 'does not answer our hello' push.err
    mount -o remount,size=80m "$PWD/small"
    wait $push
    check "it goes on when there is room" is $? 0
    check "with all of it" is "$(weft queue size q)" 100000
    kill $pid
    wait $pid
    umount small
    trap 'kill $pid 2>/dev/null; cleanup' EXIT
    port=
else
    skip "a full disk" "only root can make a small one"
fi

# --- an older journal --------------------------------------------------------------------------------------

compile host
compile adder
read -r -a ports < <(free_ports 2)
task() { # ROLE PROGRAM...: becomes a member of two
    exec env TF_CONFIG="{\"cluster\": {\"host\": [\"localhost:${ports[0]}\"], \"adder\": [\"localhost:${ports[1]}\"]},
        \"task\": {\"type\": \"$1\", \"index\": 0}}" WEFT_EXPECT=1s "${@:2}"
}
host_starts() {
    rm -f host.in host.out
    mkfifo host.in
    WEFT_SESSION_TTL=2s WEFT_JOURNAL=$PWD/old task host ./host <host.in >host.out 2>>old.err 9>&- &
    pid=$!
    exec 8>host.in
    until grep -qs ready host.out || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
}
host_dies() {
    { kill -9 $pid && wait $pid; } 2>/dev/null
    exec 8>&-
}
# scene NAME: a host and one who adds.
scene() {
    rm -rf old older ./*.err
    host_starts
    rm -f adder.in adder.out
    mkfifo adder.in
    task adder ./adder <adder.in >adder.out 2>adder.err 8>&- &
    adder=$!
    exec 9>adder.in
    until [ -e adder.out ]; do sleep 0.02; done
}
adds() { # LINES so far, once it is added
    echo add >&9
    until [ "$(wc -l <adder.out)" = "$1" ] || ! kill -0 $adder 2>/dev/null; do sleep 0.02; done
}
copy() { # of a host that stands still
    kill -STOP $pid
    rm -rf older && cp -r old older
    kill -CONT $pid
}
put_back() {
    host_dies
    rm -rf old
    mv older old
    host_starts
}
ends() { # the codes of both
    exec 9>&-
    wait $adder
    added=$?
    echo >&8
    exec 8>&-
    wait $pid
    hosted=$?
}

scene
adds 1
adds 2
copy
put_back
adds 3
ends
check "a journal that was put back and lacks nothing is as good as any" is "$(tr '\n' ' ' <adder.out)$added$hosted" 'OK OK OK 00'

scene
adds 1
copy
adds 2
put_back
adds 3
ends
check "an older journal: what was acknowledged and is gone is DATA_LOSS" is "$(tr '\n' ' ' <adder.out)$added" 'OK OK DATA_LOSS 1'
check "the client says what has happened" grep -q 'its journal is an older one' adder.err
check "so does the host" grep -q 'refused /adder/0: .*its journal is an older one' old.err

scene
copy
adds 1
put_back
adds 2
ends
check "an older journal that does not know the client at all" is "$(tr '\n' ' ' <adder.out)$added" 'OK DATA_LOSS 1'

scene
adds 1
copy
adds 2
put_back
ends
check "who only leaves hears of it, too" is "$(tr '\n' ' ' <adder.out)$added" 'OK OK 1'

scene
adds 1
host_dies
rm -rf old
host_starts
adds 2
ends
check "another journal in place of ours" is "$(tr '\n' ' ' <adder.out)$added" 'OK DATA_LOSS 1'
finish
