#!/bin/bash
# A server has its output for itself: a second server, or a run beside it, is refused before it works. Also: --port-file.
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

seq 1 1000 >numbers
answer sort numbers >expected
sentence='a server is at work on'

# holds OUTPUT: a server that waits for its clients, with that output.
holds() {
    open_server -q sort numbers -o "$1"
    first=$server
    mv port port.first # the second one has its own
}
# ends_well OUTPUT: it gets a client, and ends as if nothing had been.
ends_well() {
    server=$first
    at=$(cat port.first) && join 1
    all_end
    check "$1: the first server ends well" is "$code $codes" "0 0 "
}
second=(--listen localhost:0 --port-file port --timeout 10s)

for output in file dir/; do
    holds $output
    fails_with "$output: a second server is refused" 5 "$sentence $output" "$WEFT" server -q "${second[@]}" sort numbers -o $output
    fails_with "$output: also with --force" 5 "$sentence $output" "$WEFT" server -q "${second[@]}" --force sort numbers -o $output
    fails_with "$output: weft run is refused" 5 "$sentence $output" "$WEFT" run -q sort numbers -o $output
    fails_with "$output: also with --force, and another job" 5 "$sentence $output" "$WEFT" run -q --force count numbers -o $output
    fails_with "$output: and by another name of the place" 5 "$sentence $PWD/$output" "$WEFT" run -q sort numbers -o "$PWD/$output"
    check "$output: the refused ones have written no port" test ! -e port
    ends_well $output
    case $output in */) cat $output/part-* ;; *) cat $output ;; esac >found
    same "$output: with its bytes" expected found
    check "$output: nothing is left beside it" is "$(find . -maxdepth 1 -name '.*.weft-*')" ""
done

# What a server that was killed has left is in nobody's way.
mkdir killed
for output in killed/file killed/dir/; do
    holds $output
    kill -9 "$first" && wait "$first" 2>/dev/null
    gives "$output: a run after a server that was killed" /dev/null "$WEFT" run -q --force sort numbers -o $output
    check "$output: that run has removed its mark" is "$(find killed -name '.*.weft-server')" ""
    open_server -q --force sort numbers -o $output
    join 1
    all_end
    check "$output: a server after a server that was killed" is "$code $codes" "0 0 "
    check "$output: no mark of a server is left" is "$(find killed -name '.*.weft-server')" ""
done

# A server that is asked to end.
for signal in TERM INT; do
    open_server -q sort numbers -o $signal.d/
    kill -$signal $server
    all_end
    check "SIG$signal: nothing is left beside the output" is "$(find . -maxdepth 1 -name '.*.weft-*')" ""
    check "SIG$signal: nor the file of --port-file" test ! -e port
done

# --dry-run looks, and makes nothing.
holds dry/
fails_with "--dry-run of a server beside another one" 5 "$sentence dry/" "$WEFT" server -q "${second[@]}" --dry-run sort numbers -o dry/
ends_well dry/

finish
