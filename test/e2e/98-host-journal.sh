#!/bin/bash
# The journal of a host: killed with -9 in the middle of traffic, torn, damaged, full, rewritten.
# takes long
. "$(dirname "$0")/lib.sh"

compile host || { not_ok "the host of this test can be built" && finish; }
program=$PWD/host
# durable SCENARIO [KEY=VALUE...]: in an empty directory.
durable() {
    rm -rf scene && mkdir scene
    (cd scene && timeout -k 5 "${limit:-100}" python3 "$e2e/tools/durable.py" "$1" "$program" "${@:2}")
}

kills=12
is_long && kills=300
seed=$RANDOM
check "killed $kills times: what was acknowledged is there, once (seed $seed)" durable killed kills=$kills seed=$seed
check "the same while the journal is rewritten again and again" durable killed kills=$kills seed=$seed rewrite=20k
check "a record that is half written is cut off" durable torn
check "the journal of a newer version is refused" durable newer
check "a journal that is in use is refused" durable in_use
check "a journal that is damaged in the middle is refused" durable damaged

check "a host that stood still takes nobody for lost" durable stopped

# A host that is killed and restarted after longer than a tool waits for one that it has never met.
unset WEFT_AT WEFT_TOKEN TF_CONFIG
start_host() {
    "$WEFT" host --listen "localhost:$1" --journal kept --port-file port >/dev/null 2>&1 &
    host=$!
}
trap 'kill $host 2>/dev/null; cleanup' EXIT
start_host 0
until [ -s port ] || ! kill -0 $host; do sleep 0.02; done
WEFT_AT=localhost:$(cat port)
export WEFT_AT
seq 6 | weft queue push jobs && weft queue close jobs
weft var set seen 0
"$WEFT" queue take jobs -- sh -c 'sleep 0.3; echo {} >>dealt' 2>worker.err &
worker=$!
"$WEFT" var watch seen -n 2 >watched 2>/dev/null &
watcher=$!
until [ -s dealt ] && [ -s watched ]; do sleep 0.02; done
{ kill -9 $host && wait $host; } 2>/dev/null
sleep 7
start_host "${WEFT_AT##*:}"
weft var set seen 1
wait $worker
check "a worker loop outlives a host that is away for 7 s" test $? = 0
check "it says for whom it waits" grep -q "waiting for the host at .* since" worker.err
seq 6 >expected
sort -n dealt >actual
same "and each item is done once" expected actual
wait $watcher
check "so does a watch" test $? = 0
printf '0\n1\n' >expected
same "which misses nothing" expected watched
kill $host
wait $host

small=$dir/small
mkdir "$small"
if is_root && mount -t tmpfs -o size=300k none "$small" 2>/dev/null; then
    check "a full disk is waited for" durable full journal="$small/journal" \
        make_room="mount -o remount,size=8m $small"
    umount "$small"
else
    skip "a full disk is waited for" "only root can make a small one"
fi
finish
