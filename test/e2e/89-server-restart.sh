#!/bin/bash
# weft server is killed with -9 and started again by the same command: clients come back by themselves, and what they had sealed is
# not done again. Kills are at fixed points: commands of the job wait for a file there.
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

export WEFT_CHECKPOINT_MS=10
server_log=server.log client_talk=
LOG=$PWD/maps GATE=$PWD/gate
export LOG GATE
seq 1 4000 >numbers
# A map task, unlike a sample, has 100 lines: it logs the first one. From line $WAIT on it waits for the gate.
cat >map.sh <<'X'
#!/bin/bash
mapfile lines
first=${lines[0]%$'\n'}
[ ${#lines[@]} = 100 ] || first=0
[ "$first" = 0 ] || echo "$first" >>"$LOG"
echo "reporter:counter:tasks,maps,1" >&2
[ "$first" -lt "${WAIT:-99999}" ] || until [ -e "$GATE" ]; do sleep 0.02; done
sleep 0.01
printf '%s' "${lines[@]}"
X
# Reduce tasks that have the line $HOLD wait for the gate.
cat >reduce.sh <<'X'
#!/bin/bash
mapfile lines
case "${lines[*]}" in *"${HOLD:-none}"*) until [ -e "$GATE" ]; do sleep 0.02; done ;; esac
printf '%s' "${lines[@]}"
X
chmod +x map.sh reduce.sh
job=(--lines-per-task 100 --reducers 4 --file map.sh --file reduce.sh --map ./map.sh --reduce ./reduce.sh numbers)

start_server() { open_server --json "$@"; }

kill_server() {
    kill -9 $server
    wait $server 2>/dev/null
}

brought() { sed -n 's/.*has brought \([0-9]*\) finished.*/\1/p' server.log | awk '{n += $1} END {print n + 0}'; }
# sealed: both clients have finished work that the journal knows of.
sealed() { [ "$(grep -aoE "$(hostname)/($1)" .out.weft-unfinished/.weft-journal/* 2>/dev/null | sort -u | wc -l)" = 2 ]; }
begin() {
    rm -rf out .out.* gate server.log client.log maps
    : >server.log; : >client.log; : >maps
    clients=()
    start_server "${job[@]}" -o out/
    join 2
}
# again: the same command; $done is how many map tasks had begun until then.
again() {
    kill_server
    done=$(wc -l <maps)
    : >server.log
    start_server "${job[@]}" -o out/
}
same_end() {
    all_end
    check "$1: all end well" is "$code $codes" "0 0 0 "
    rm -rf out/_*
    check "$1: the same bytes" diff -r expected out
    check "$1: each task is counted once" is "$(grep -o '"tasks.maps":[0-9]*' server.log)" "\"tasks.maps\":$counted"
    [ "$code $codes" = "0 0 0 " ] || cat server.log client.log | note
}

touch gate
answer --json "${job[@]}" -o expected/ >/dev/null 2>plain.log
counted=$(sed -n 's/.*"tasks.maps":\([0-9]*\).*/\1/p' plain.log)
rm -rf expected/_* gate maps

# ---- in the map stage ------------------------------------------------------------------------------------

export WAIT=3001
begin
check "both clients have sealed something" await 'sealed "${clients[0]}|${clients[1]}"'
check "and wait for the gate" await '[ "$(wc -l <maps)" = 32 ]'
again
await '[ "$(grep -c "has joined" server.log)" = 2 ]'
touch gate
same_end "killed in the map stage"
check "sealed map tasks are not run again" is $(($(brought) + $(tail -n +$((done + 1)) maps | wc -l))) 40
check "and there were some" test "$(brought)" -gt 0
unset WAIT

# A server that hears nothing any more, while the last map task is sealed.
export WAIT=3901
begin
check "one task is left" await '[ "$(wc -l <maps)" = 40 ]'
kill -STOP $server
touch gate
sleep 0.5
again
same_end "killed before it heard of the last seals"
check "those that were sealed are not run again" is $(($(brought) + $(tail -n +$((done + 1)) maps | wc -l))) 40
unset WAIT

# ---- in the reduce stage ---------------------------------------------------------------------------------

export HOLD=1
begin
await 'grep -q "\"phase\":\"reduce\"\|reduce" server.log'
again
touch gate
same_end "killed in the reduce stage"
check "no map task is run again" is "$(wc -l <maps) $(brought)" "40 40"

# Some pieces of the answer are there: the one that has line 999 waits.
export HOLD=$' 999\n'
begin
check "three pieces are written" await '[ "$(cat .out.weft-unfinished/part-* 2>/dev/null | wc -l)" -gt 2000 ]'
again
touch gate
same_end "killed while the answer is written"
check "no map task is run again then" is "$(wc -l <maps)" 40
unset HOLD

# ---- between any two steps on its disk --------------------------------------------------------------------

# dies_at N WORD...: a server that dies before its Nth change of a file, and two clients.
dies_at() {
    local n=$1
    shift
    rm -rf out .out.* port
    : >server.log; : >client.log
    clients=()
    env LD_PRELOAD="$E2E_TOOLS/dieat.so" WEFT_DIE_AT="$n" WEFT_DIE_COUNT="$dir/count" "$WEFT" server -q --listen localhost:0 \
        --port-file port "$@" -o out/ </dev/null >/dev/null 2>>server.log &
    server=$!
    await '[ -s port ] || ! kill -0 $server 2>/dev/null'
    at=$(cat port 2>/dev/null)
    [ -z "$at" ] || join 2
    wait $server 2>/dev/null
}

# gaps WORD...: the server of ${few[@]} dies in gaps between its changes: some, and all of the last ones, where the answer gets its name.
gaps() {
    local n all step=25 last=7
    is_long && step=1
    rm -rf expected && answer "${few[@]}" -o expected/ && rm -rf expected/_*
    dies_at 0 "$@" && all_end
    all=$(cat "$dir/count")
    [ "$all" -gt $last ] || return 1
    for n in $(seq 1 $step $((all - last))) $(seq $((all - last + 1)) "$all"); do
        dies_at "$n" "$@" 2>/dev/null
        start_server -q "$@" -o out/
        [ ${#clients[@]} -gt 0 ] || [ -e out ] || join 2
        all_end 2>/dev/null
        rm -rf out/_*
        # A client that has not heard of the end from a server that died after it gives up.
        case $code.$codes in "0." | 0.[03]\ [03]\ ) diff -r expected out && [ -z "$(compgen -G '.out.*')" ] && continue ;; esac
        { echo "gap $n of $all: exit $code, clients $codes, left: $(compgen -G '.out.*')" && cat server.log client.log; } | note
        return 1
    done
}

if ldd "$WEFT" >/dev/null 2>&1 && ! is_sanitized; then
    export WEFT_REJOIN_MS=300
    few=(--lines-per-task 400 --reducers 4 --map cat --reduce cat numbers)
    check "killed between two changes of files" gaps "${few[@]}"
    check "also where clients write the parts" gaps --shared "${few[@]}"
    unset WEFT_REJOIN_MS
else
    skip "killed between two changes of files" "the command takes no preloaded library"
fi

# ---- at any moment ---------------------------------------------------------------------------------------

is_sanitized && finish
RANDOM=89
rounds=2
is_long && rounds=50
generate words 3500000 891 >words
compile stages || exit 1

# killed WORD...: the server is killed at a random moment and started again.
killed() {
    local i begun ms
    rm -rf out .out.* expected
    answer "$@" -o expected/ >/dev/null 2>&1
    rm -rf expected/_*
    : >server.log; : >client.log
    begun=${EPOCHREALTIME/./}
    start_server -q "$@" -o out/ && join 2 && all_end
    ms=$(((${EPOCHREALTIME/./} - begun) / 1000 + 1))
    for ((i = 0; i < rounds; i++)); do
        rm -rf out .out.*
        : >server.log; : >client.log
        start_server "$@" -o out/
        join 2
        sleep "$((RANDOM % ms / 1000)).$(printf %03d $((RANDOM % ms % 1000)))"
        kill_server
        [ -e out ] || start_server "$@" -o out/
        all_end
        rm -rf out/_*
        case $code in 0 | 137) true ;; *) false ;; esac && diff -r expected out && continue
        { echo "round $i: exit $code, clients $codes" && cat server.log client.log; } | note
        return 1
    done
}
check "several stages with a server that is killed" killed ./stages words
check "sort with a server that is killed" killed sort words
check "word count with a server that is killed" killed wordcount words

# ---- finding each other ----------------------------------------------------------------------------------

# A token made for the run, and a port that the system chose.
rm -rf out .out.* gate maps
: >server.log; : >client.log
export WAIT=3901
unset WEFT_TOKEN
listening=(server --listen :0 --port-file port "${job[@]}" -o out/)
"$WEFT" "${listening[@]}" >/dev/null 2>server.log &
server=$!
await 'grep -q "join by" server.log'
at=$(sed -n 's/.*join by: weft client //p' server.log)
join 1
check "a client joins by a token made for the run" await '[ "$(wc -l <maps)" = 40 ]'
kill_server
"$WEFT" "${listening[@]}" >/dev/null 2>server.log &
server=$!
touch gate
all_end
check "and finds the server again, at the same port with the same token" is "$code $codes" "0 0 "
check "which the server names again" grep -qF "weft client $at" server.log
check "the answer has no trace of the token" is "$(grep -rl "${at#*#}" out | wc -l)" 0
export WEFT_TOKEN=000102030405060708090a0b0c0d0e0f

# A server that does not come back, and one that comes with another job.
begun=$SECONDS
rm -rf gate
export WEFT_REJOIN_MS=1000
begin
await '[ "$(wc -l <maps)" = 40 ]'
kill_server
all_end
check "clients of a server that does not come back end" is "$codes" "3 3 "
check "and say so" grep -q 'out of reach for 1 s' client.log
unset WEFT_REJOIN_MS
begin
await '[ "$(wc -l <maps)" = 40 ]'
kill_server
touch gate
"$WEFT" server -q --listen "$at" wordcount numbers >counts 2>server.log &
server=$!
all_end
answer wordcount numbers >expected.counts
check "a client works for another job at the same address" is "$code" 0 # the job may end before both are back
same "with its bytes" expected.counts counts
check "and bring nothing along" is "$(brought)" 0
check "nothing is left" is "$(ls -A "$TMPDIR")" ""

finish
