#!/bin/bash
# A server has its output for itself: a second server, or a run beside it, is refused before it works. Also: what killed ones leave, and --port-file.
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

# One that was killed when its answer was in its place, but its mark still there. The next run comes no further than to the answer.
for output in killed/done killed/done.d/; do
    holds $output
    kill -9 "$first" && wait "$first" 2>/dev/null
    case $output in */) mkdir -p $output && cp numbers $output/ ;; *) cp expected $output ;; esac
    fails_with "$output: a run is refused where the answer is" 5 "$output exists already" "$WEFT" run -q sort numbers -o $output
    check "$output: and has removed the mark of the server" is "$(find killed -name '.*.weft-server')" ""
done

# A server that is asked to end.
for signal in TERM INT; do
    open_server -q sort numbers -o $signal.d/
    kill -$signal $server
    all_end
    check "SIG$signal: nothing is left beside the output" is "$(find . -maxdepth 1 -name '.*.weft-*')" ""
    check "SIG$signal: nor the file of --port-file" test ! -e port
done

# An unfinished file goes with the next run, whoever was killed over it; that of a run that works stays.
mkdir left
holds left/file
check "a server has an unfinished file" is "$(find left -name '.file.weft-*-*' | wc -l)" 1
kill -9 "$first" && wait "$first" 2>/dev/null
gives "a run after it" /dev/null "$WEFT" run -q sort numbers -o left/file
check "nothing but the output is left" is "$(ls -A left)" file
mkfifo gate
"$WEFT" run -q --map 'cat; cat gate' --shell numbers -o left/slow &
slow=$!
await '[ -n "$(find left -name ".slow.weft-*")" ]'
gives "a run with the same output while another one works" /dev/null "$WEFT" run -q sort numbers -o left/slow
check "leaves the file of that" is "$(find left -name '.slow.weft-*' | wc -l)" 1
kill $slow && wait $slow 2>/dev/null

# A --port-file that an earlier server has left is gone before the new one listens; one that is in use stays.
echo localhost:1 >port
mkfifo input
"$WEFT" server -q --listen localhost:0 --port-file port sort - <input >/dev/null 2>&1 &
waits=$!
exec 7>input
await '[ ! -e port ]'
check "a server that still reads its input has removed an old --port-file" test ! -e port
exec 7>&-
await '[ -s port ]'
cp port before
fails_with "another server that is refused" 3 'the port is taken' \
    "$WEFT" server -q --listen "$(cat port)" --port-file port sort numbers
same "leaves it" before port
kill $waits && wait $waits 2>/dev/null

# --dry-run looks, and makes nothing.
holds dry/
fails_with "--dry-run of a server beside another one" 5 "$sentence dry/" "$WEFT" server -q "${second[@]}" --dry-run sort numbers -o dry/
ends_well dry/

finish
