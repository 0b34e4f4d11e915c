#!/bin/bash
# weft client is asked to end (SIGTERM, Ctrl-C): it hands its finished work over, and no sealed map task is run again. Signals and kills are
# at fixed points: commands of the job wait for a file there, and processes that are to be late are stopped.
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

export WEFT_CHECKPOINT_MS=10
server_log=server.log client_talk=
LOG=$PWD/maps GATE=$PWD/gate TMPDIR=$PWD/tmp
export LOG GATE TMPDIR
mkdir tmp
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
printf '%s' "${lines[@]}"
X
# Reduce tasks wait for the gate with $HOLD.
cat >reduce.sh <<'X'
#!/bin/bash
mapfile lines
[ -z "$HOLD" ] || { echo begun >>"$LOG.reduces" && until [ -e "$GATE" ]; do sleep 0.02; done; }
printf '%s' "${lines[@]}"
X
chmod +x map.sh reduce.sh
job=(--lines-per-task 100 --reducers 4 --file map.sh --file reduce.sh --map ./map.sh --reduce ./reduce.sh numbers)

begin() {
    rm -rf out .out.* gate maps*
    : >server.log; : >client.log; : >maps; : >maps.reduces
    clients=()
    open_server --json "${job[@]}" -o out/ "$@"
}

# leave N: the client with that number is asked to end.
leave() {
    kill -TERM "${clients[$1]}"
    await "grep -q '\"event\":\"leaving\",\"client\":\"[^\"]*/${clients[$1]}\"' server.log"
}
maps_are() { [ "$(wc -l <maps)" = "$1" ]; }
# sealed N: the journal knows that the client has sealed something.
sealed() { grep -aq "$(hostname)/${clients[$1]}" .out.weft-unfinished/.weft-journal/* 2>/dev/null; }
# kept: tasks that were handed over, and those that were begun more than once, are not the same, but for second attempts of a slow task.
kept() { [ $(($(handed) + $(sort maps | uniq -d | wc -l) - $(backups))) -le 40 ]; }
backups() { sed -n 's/.*"workers_lost":[0-9]*,"backups":\([0-9]*\).*/\1/p' server.log | awk '{n += $1} END {print n + 0}'; }
brought() { sed -n 's/.*has brought \([0-9]*\) finished.*/\1/p' server.log | awk '{n += $1} END {print n + 0}'; }
handed() { sed -n 's/.*"event":"handed_over".*"tasks":\([0-9]*\).*/\1/p' server.log | awk '{n += $1} END {print n + 0}'; }

# same_end SENTENCE CODES [handed]: exit codes of server and clients; whether no task is begun again that was handed over. Others may have
# second attempts.
same_end() {
    local client codes
    wait $server
    codes="$? "
    for client in "${clients[@]}"; do
        wait "$client" 2>/dev/null
        codes+="$? "
    done
    check "$1: exit codes" is "$codes" "$2 "
    [ "$codes" = "$2 " ] || cat server.log client.log | cut -c1-250 | note 40
    rm -rf out/_*
    check "$1: the same bytes" diff -r expected out
    check "$1: each task is counted once" is "$(grep -o '"tasks.maps":[0-9]*' server.log)" "\"tasks.maps\":$counted"
    [ -z "${3:-}" ] || check "$1: no task is run again that was handed over" kept
}

touch gate
answer --json "${job[@]}" -o expected/ >/dev/null 2>plain.log
counted=$(sed -n 's/.*"tasks.maps":\([0-9]*\).*/\1/p' plain.log)
rm -rf expected/_* gate maps

# ---- in the map stage ------------------------------------------------------------------------------------

export WAIT=3001
begin
join 2
check "both clients wait for the gate" await 'maps_are 32 && { sealed 0 || sealed 1; }'
leave 0
touch gate
same_end "leaving in the map stage" "0 0 0" handed
check "no worker counts as lost" grep -q '"workers_lost":0' server.log

begin
join 1
check "the only client waits for the gate" await 'maps_are 31 && sealed 0'
leave 0
touch gate
wait "${clients[0]}"
check "the last client leaves with 0" is $? 0
check "with all of its tasks" test "$(handed)" -ge 31
check "and says so" grep -q "left; $(handed) finished tasks handed over" client.log
check "the server, too" await 'grep -q "\"event\":\"left\"" server.log'
join 1
same_end "the server has taken its work" "0 0 0" handed

# Two at once, and the third takes all.
begin
join 3
check "three clients wait for the gate" await 'maps_are 33'
leave 0 && leave 1
touch gate
same_end "two leave at once" "0 0 0 0" handed

# A task that takes longer than half of the grace is given back.
begin
join 1 --grace 1s && join 1
check "two clients wait for the gate" await 'maps_are 32 && { sealed 0 || sealed 1; }'
leave 0
wait "${clients[0]}"
check "a long task is given back, and the client leaves with 0" is $? 0
touch gate
same_end "a task is given back" "0 0 0" handed

# ---- receivers that cannot -------------------------------------------------------------------------------

export WAIT=3901
begin
join 1
check "one task is left" await 'maps_are 40 && sealed 0'
mkdir full
LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/full" WEFT_NOSPACE_BYTES=1000 join 1 --tmp "$PWD/full"
await 'grep -q "has joined.*(2 now)" server.log'
leave 0
touch gate
wait "${clients[0]}"
check "with a receiver whose disk is full the server takes it" is $? 0
wait "${clients[1]}"
check "the receiver cannot reduce, and is set aside" is $? 1
join 1
same_end "the receiver is full" "0 0 1 0" handed

# The receiver dies at its first byte.
begin
join 1
check "one task is left for the first" await 'maps_are 40 && sealed 0'
mkdir dies
LD_PRELOAD="$E2E_TOOLS/dieat.so" WEFT_DIE_FILE="$PWD/dies" WEFT_DIE_AT=1 join 1 --tmp "$PWD/dies"
await 'grep -q "has joined.*(2 now)" server.log'
touch gate
leave 0
wait "${clients[0]}"
check "with a receiver that dies the server takes it" is $? 0
join 1
same_end "the receiver dies" "0 0 137 0" handed

# ---- kills around it -------------------------------------------------------------------------------------

# hold_over: the first client leaves, and the second one, which is to copy its work, stands still.
hold_over() {
    begin
    join 1
    check "$1: one task is left" await 'maps_are 40 && sealed 0'
    join 1 "${@:2}"
    await 'grep -q "has joined.*(2 now)" server.log'
    kill -STOP "${clients[1]}"
    touch gate
    leave 0
}

hold_over "killed while it hands over"
kill -9 "${clients[0]}"
kill -CONT "${clients[1]}"
same_end "killed while it hands over" "0 137 0"

hold_over "the server is killed"
kill -9 $server
wait $server 2>/dev/null
done=$(wc -l <maps)
: >server.log
open_server --json "${job[@]}" -o out/
kill -CONT "${clients[1]}"
same_end "the server is killed meanwhile" "0 0 0"
check "sealed tasks are not run again" test $(($(brought) + $(tail -n +$((done + 1)) maps | grep -vc "$WAIT"))) -le 40

begin
join 1 --grace 300ms
check "one task is left for it" await 'maps_are 40 && sealed 0'
kill -STOP $server
kill -TERM "${clients[0]}"
wait "${clients[0]}"
check "when the grace is over it leaves with 143" is $? 143
check "and a sentence" grep -q 'left before all finished work was handed over' client.log
kill -CONT $server
touch gate
join 1
same_end "the grace was over" "0 143 0"

begin
join 1
check "again one is left" await 'maps_are 40 && sealed 0'
leave 0
kill -TERM "${clients[0]}"
wait "${clients[0]}"
check "the second signal ends it at once" is $? 143
touch gate
join 1
same_end "two signals" "0 143 0"

begin
join 1 --grace 0
check "one is left for one in a hurry" await 'maps_are 40'
kill -TERM "${clients[0]}"
wait "${clients[0]}"
check "--grace 0 leaves at once" is $? 143
touch gate
join 1
same_end "without a grace" "0 143 0"
unset WAIT
fails_with "a grace that is no time" 2 'grace soon makes no sense' weft client --grace soon localhost:1

# ---- in the reduce stage ---------------------------------------------------------------------------------

export HOLD=1
begin
join 2
check "both reduce" await '[ "$(wc -l <maps.reduces)" -ge 2 ]'
leave 0
touch gate
same_end "leaving in the reduce stage" "0 0 0" handed

begin --shared
join 2
check "both reduce for a shared directory" await '[ "$(wc -l <maps.reduces)" -ge 2 ]'
leave 1
touch gate
same_end "leaving with parts of the answer" "0 0 0" handed
unset HOLD

# ---- other jobs ------------------------------------------------------------------------------------------

is_sanitized && finish
generate words 3000000 891 >words
compile stages || exit 1
answer ./stages words -o expected2/ >/dev/null
rm -rf expected2/_*
: >server.log; : >client.log
clients=()
open_server --json ./stages words -o out2/
join 2
await 'grep -q "\"stage\":2" server.log || ! kill -0 $server 2>/dev/null'
kill -TERM "${clients[0]}"
wait $server
check "several stages" is "$?" 0
wait "${clients[0]}" && wait "${clients[1]}"
check "both clients end with 0" is "$?" 0
rm -rf out2/_*
check "with the same bytes" diff -r expected2 out2

check "nothing is left of all that" is "$(find tmp full dies -mindepth 1) $(pgrep -f "$PWD" | wc -l)" " 0"
finish
