#!/bin/bash
# weft server and weft client: the bytes are those of weft run, whoever joins, leaves or is killed.
# takes long
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

rounds=3
is_sanitized && rounds=1
is_long && rounds=100
RANDOM=87

generate words 3500000 871 >words
generate lines 60000 872 >lines
seq 1 4000 >numbers
sed 's/^777$/boom segv/; s/^1500$/boom fail/; s/^3999$/boom abort/' numbers >mined
gzip -k lines
compile stages && compile slow && compile mines || exit 1
printf 'id,kind\n' >table.csv
seq 1 60000 | sed 's/$/,"a,b"/' >>table.csv

# shared SENTENCE WORD...: what `weft run WORD...` prints is the same by a server with two clients.
shared() {
    local sentence=$1
    shift
    answer "$@" >expected 2>/dev/null
    local expected_code=$?
    [ "$sentence" = "an empty input" ] || check "$sentence: there is an answer" test -s expected
    : >client.log
    open_server -q "$@"
    join 2
    all_end
    if [ $code = $expected_code ] && cmp -s expected "$out" && [ "$codes" = "0 0 " ]; then
        ok "$sentence: two clients"
    else
        not_ok "$sentence: two clients"
        { echo "exit $code, not $expected_code; clients $codes" && head -n 3 "$err" client.log && cmp expected "$out"; } | note
    fi
}

shared "wordcount" wordcount words lines
shared "sort" sort words
shared "grep, without a reduce" grep '[0-9a-f]{3}b' words
shared "a job of several stages" ./stages words

# ---- kill -9 of clients ---------------------------------------------------------------------------------

# killed WORD...: of three clients one is killed at a random moment, and another one joins; no run may fail, and the bytes are the same.
killed() {
    local i begun ms
    answer "$@" >expected
    begun=${EPOCHREALTIME/./}
    open_server -q "$@" && join 3 && all_end
    ms=$(((${EPOCHREALTIME/./} - begun) / 1000 + 1))
    for ((i = 0; i < rounds; i++)); do
        : >client.log
        open_server "$@"
        join 3
        sleep "$((RANDOM % ms / 1000)).$(printf %03d $((RANDOM % ms % 1000)))"
        kill -9 "${clients[RANDOM % 3]}" 2>/dev/null
        join 1
        all_end 2>/dev/null
        # A client that lacks what was lost with another is not to blame, nor set aside.
        [ $code = 0 ] && cmp -s expected "$out" && ! grep -q 'sent\|set aside' "$err" && continue
        { echo "round $i: exit $code, clients $codes" && cat "$err" client.log && cmp expected "$out"; } | note
        return 1
    done
}

check "sort with a client that is killed" killed sort words
check "several stages with a client that is killed" killed ./stages words
is_sanitized && finish

shared "index" index words lines
shared "PageRank" --lines-per-task 2 "$root/examples/pagerank.c" "$root/examples/data/links.txt"
shared "the largest counts" --top 100 wordcount words
shared "compressed input" count lines.gz
shared "csv" --format csv --map 'cut -d, -f2' table.csv
shared "commands" --map 'tr " " "\n"' --reduce 'uniq -c' words
printf '#!/bin/sh\ntr " " "\\n"\n' >split.sh && chmod +x split.sh
shared "commands with a file of their own" --file split.sh --map ./split.sh --reduce 'uniq -c' words
shared "compressed output" --compress gzip wordcount words
shared "bad records that are left out" --skip-bad 10 --lines-per-task 300 ./mines mined
check "as many as there are" is "$(wc -l <_weft-bad-records.jsonl)" 3
shared "counters of all clients" --lines-per-task 300 --shell --map 'cat; echo reporter:counter:g,c,1 >&2' numbers
shared "an empty input" wordcount /dev/null
check "slow maps with a client that is killed" killed --lines-per-task 100 ./slow -u 300 numbers
answer wordcount words >expected
server_input=words open_server -q wordcount -
join 2
all_end
check "standard input" is "$code" 0
same "gives the same bytes" expected "$out"
mkfifo slowly
(head -c 500000 words && sleep 0.5 && tail -c +500001 words) >slowly &
server_input=slowly open_server -q wordcount -
join 2
all_end
check "a pipe that is slow" is "$code" 0
same "gives the same bytes, too" expected "$out"

# A client without room for what it is lent goes; the job does not.
mkdir full
server_input=words open_server wordcount -
env LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/full" WEFT_NOSPACE_BYTES=1000000 \
    "$WEFT" client -q -n 1 --tmp "$PWD/full" "$at" >>client.log 2>&1
join 1
all_end
check "a client whose disk is full of lent input is set aside" is "$code $codes" "0 0 "
same "and another one gives the same bytes" expected "$out"
says "the server says why" 'is set aside: .*no space left'

# ---- coming and going ---------------------------------------------------------------------------------------

answer wordcount words >expected
open_server -q wordcount words
sleep 0.3
join 1
all_end
check "a server waits for its first client" is "$code" 0
same "with the same bytes" expected "$out"

slowly=(--lines-per-task 100 --map "sleep 0.02; : >'$PWD/begun'; cat" --shell numbers)
answer "${slowly[@]}" >expected
rm begun
open_server -q "${slowly[@]}"
join 1
await '[ -e begun ]'
kill -TERM "${clients[0]}"
join 1
all_end
check "a client that is asked to end does, and another one takes over" is "$code $codes" "0 0 0 "
same "with the same bytes after it" expected "$out"

open_server -q wordcount words -o parts/
join 2
all_end
answer wordcount words -o one/
check "a directory of parts has the same files" diff -r one parts

# Same path, size and time, and another byte in the middle: such a client gets the server's bytes.
if is_root && unshare -m true 2>/dev/null; then
    mkdir -p here there
    head -c 60000 words >here/f
    { head -c 30000 here/f && printf X && tail -c +30002 here/f; } >there/f
    touch -r here/f there/f
    answer wordcount here/f >expected
    open_server -q wordcount "$PWD/here/f"
    unshare -m sh -c "mount --bind there here && exec '$WEFT' client -q -n 1 '$at'" &
    clients+=($!)
    all_end
    same "a client with another file of that name reads the server's" expected "$out"
else
    skip "a client with another file of that name reads the server's" "no mount namespaces"
fi

# ---- what goes wrong ------------------------------------------------------------------------------------------

open_server -q --timeout 1s wordcount words
wait $server
check "a server that no client joins gives up at --timeout" is "$?" 6
says "and says so" 'timed out'
open_server -q wordcount words
WEFT_TOKEN=ffffffffffffffffffffffffffffffff try weft client "$at"
check "another token is refused" is "$code" 5
kill -TERM $server
wait $server
check "a signal ends a server" is "$?" 143
try weft client localhost:1
check "a server that is not there" is "$code" 3
fails_with "no server is named" 2 'no server is named' weft client
check "nothing is left" is "$(ls -A "$TMPDIR")" ""

finish
