#!/bin/bash
# weft server --shared: clients write the part files themselves; whoever is killed or does not see the directory, the bytes are those of weft run.
# takes long
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

export WEFT_CHECKPOINT_MS=10
server_log=server.log
GATE=$PWD/gate
export GATE
mkdir seen
generate words 2000000 881 >words
generate lines 60000 882 >lines
compile stages || exit 1

# join_blind: a client with another file system in the place of the directory of the output.
join_blind() {
    unshare -rm sh -c 'mount -t tmpfs none "$1/seen" && exec "$2" client -q -n 1 "$3"' - "$PWD" "$WEFT" "$at" >>client.log 2>&1 &
    clients+=($!)
}

begin() {
    rm -rf seen/* seen/.out* gate
    : >server.log; : >client.log
    clients=()
}

# same_end SENTENCE CODES: all is there, and nothing else.
same_end() {
    all_end
    check "$1: all end well" is "$code $codes" "0 $2"
    check "$1: the same bytes, and nothing else" diff -r expected seen/out
    check "$1: no other file" is "$(ls -A seen)" out
    [ "$code $codes" = "0 $2" ] || cat server.log client.log | note
}

# shared SENTENCE WORD...
shared() {
    local sentence=$1
    shift
    rm -rf expected
    answer --output expected/ "$@"
    begin
    open_server --shared --output seen/out/ "$@"
    join 2
    same_end "$sentence" "0 0 "
    check_not "$sentence: no client was blind" grep -q "cannot write part files" server.log
}

shared "wordcount" --reducers 3 wordcount words lines
shared "sort, compressed" --reducers 2 --compress zstd sort words
shared "grep, without a reduce" grep '[0-9a-f]{3}b' words
shared "a job of several stages" ./stages words
shared "an empty answer" --reducers 3 grep 'no such line' lines

# ---- What cannot be shared ----------------------------------------------------------------------------------

fails_with "a file has one writer: the server" 2 'needs a directory for the output' weft server --shared sort words -o file
fails_with "standard output likewise" 2 'try: -o DIR/' weft server --shared sort words
fails_with "a run without clients has nobody to share with" 2 'for the clients of a server' weft run --shared sort words -o seen/out/

# ---- Clients that do not see the directory --------------------------------------------------------------------

rm -rf expected
answer --reducers 4 sort words -o expected/
if unshare -rm true 2>/dev/null; then
    begin
    open_server --shared --reducers 4 sort words -o seen/out/
    join_blind
    join_blind
    same_end "no client sees the directory" "0 0 "
    # One that holds nothing is not asked.
    check "that is said once of each" test "$(grep -o '[^ ]* cannot write part files .*pass through this server' server.log | cut -d' ' -f1 | sort | uniq -c | awk '{print $1}' | sort -u)" = 1
    begin
    open_server --shared --reducers 4 sort words -o seen/out/
    join_blind
    join 1
    same_end "one of two sees it" "0 0 "
else
    skip "clients that do not see the directory" "this user cannot make mount namespaces"
fi

# ---- A client is killed while it writes -------------------------------------------------------------------------

# join_mortal: a client that is killed in the middle of the first stretch it writes into a part.
join_mortal() {
    env LD_PRELOAD="$E2E_TOOLS/dieat.so" WEFT_DIE_AT=1 WEFT_DIE_TORN=1 WEFT_DIE_FILE=/.weft-parts/part- \
        "$WEFT" client -q -n 1 "$at" >>client.log 2>&1 &
    clients+=($!)
}

rm -rf expected
answer --reducers 2 sort words -o expected/
begin
open_server --shared --reducers 2 sort words -o seen/out/
join_mortal
join_mortal
for client in "${clients[@]}"; do wait "$client"; died+="$? "; done
check "clients are killed while they write" is "$died" "137 137 "
check "what they wrote is torn" test "$(find seen/.out.weft-unfinished/.weft-parts -size +0 | wc -l)" -gt 0
clients=()
join 1
same_end "clients are killed while they write" "0 "

# ---- The server is killed -------------------------------------------------------------------------------------

seq 1 4000 | sed "s/\$/$(printf 'x%.0s' {1..1000})/" >numbers
cat >reduce.sh <<'X'
#!/bin/bash
while IFS= read -r line; do
    case $line in 2500x*) until [ -e "$GATE" ]; do sleep 0.02; done ;; esac
    printf '%s\n' "$line"
done
X
chmod +x reduce.sh
job=(--lines-per-task 400 --reducers 4 --map cat --reduce "$PWD/reduce.sh" numbers)
rm -rf expected
touch gate
answer "${job[@]}" -o expected/
begin
open_server --shared "${job[@]}" -o seen/out/
join 2
parts() { find seen/.out.weft-unfinished -maxdepth 1 -name 'part-*' -size +0 -printf "$1"; }
# One part waits for the gate, and another one may be queued behind it.
await '[ "$(parts "%f\n" | wc -l)" -ge 2 ]'
written=$(parts '%s\n' | awk '{n += $1} END {print n}')
check "the answer does not pass through the server" test "$(sed -n 's/^wchar: //p' /proc/$server/io)" -lt "$written"
before=$(parts '%f %i\n' | sort)
kill -9 $server
wait $server 2>/dev/null
touch gate
open_server --shared "${job[@]}" -o seen/out/
same_end "the server is killed" "0 0 "
check "parts that were written stay" is "$(cd seen/out && find . -name 'part-*' -printf '%f %i\n' | sort | grep -Fx "$before")" "$before"

nothing_left "nothing is left"
finish
