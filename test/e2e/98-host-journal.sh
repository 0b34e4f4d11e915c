#!/bin/bash
# The journal of a host: killed with -9 in the middle of traffic, torn, damaged, full, rewritten.
# also: asan
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
