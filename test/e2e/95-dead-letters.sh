#!/bin/bash
# Dead letters seen from a program in C: what counted once for an element counts
# once when it is tried again, and who lets its last lease pass fails.
# also: asan
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

check "dead_letters.c compiles" compile dead_letters

# host: starts one with the journal of the last; its number is in $pid.
host() {
    rm -f port
    "$WEFT" host --listen localhost:0 --port-file port --journal journal >host.out 2>host.err &
    pid=$!
    until [ -e port ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    WEFT_AT=localhost:$(cat port)
    export WEFT_AT
}
stop() { kill "$pid" && wait "$pid" 2>/dev/null; }
trap 'kill $pid 2>/dev/null; cleanup' EXIT

host
weft queue push --deliveries 1 jobs a b c && weft queue close jobs
fails_with "a program whose elements failed for good fails" 1 'is in jobs.dead now' ./dead_letters fail
check "each was counted" is "$(weft var get sum)" 3
check "one is tried again" is "$(weft queue retry -n 1 jobs.dead)" 1
check "and done with" ./dead_letters count
check "it counts once" is "$(weft var get sum)" 3
stop
host
check "the others are tried again after a restart" is "$(weft queue retry jobs.dead)" 2
check "and done with, too" ./dead_letters count
check "and count once" is "$(weft var get sum)" 3
check "nothing is left" is "$(weft queue size jobs)/$(weft queue size jobs.dead)" 0/0

# Too late: the lease of the last delivery has ended.
weft queue push --deliveries 2 late a b
check "who is late while there are chances left does not fail" ./dead_letters late
fails_with "who lets the last one pass fails" 1 'late: the lease on element 1 ended at its delivery 2 of 2: it is in late.dead now' ./dead_letters late
says "its weft_done says ABORTED" '^ABORTED$'
check "the element is among the dead letters" is "$(weft queue peek -0 late.dead | tr '\0' .)" a.
./dead_letters late >/dev/null
fails_with "also who waits for the answer later" 1 'the lease on element 2 ended at its delivery 2 of 2' ./dead_letters late_start
weft queue push --deliveries 1 popped a
check "what was popped is in no dead letters, though it be done with twice" ./dead_letters pop
stop
finish
