# A server with its answer in HDFS is killed and its machine is lost; the same command continues it where nothing but HDFS is left of it. Sourced by `run`.
# shellcheck shell=bash disable=SC2154,SC2034

. "$e2e/machines.sh"
name_node=$at
server_log=server.log
LOG=$PWD/elsewhere.maps REDUCED=$PWD/elsewhere.reduces GATE=$PWD/gate
export LOG REDUCED GATE WEFT_CHECKPOINT_MS=10
seq 1 4000 >numbers
weft put numbers hdfs:///numbers
# A map task, unlike a sample, has 100 lines: it logs the first one.
cat >map.sh <<'X'
#!/bin/bash
mapfile lines
[ ${#lines[@]} != 100 ] || echo "${lines[0]%$'\n'}" >>"$LOG"
echo "reporter:counter:tasks,maps,1" >&2
printf '%s' "${lines[@]}"
X
# The reduce task that has the line 999 waits for the gate.
cat >reduce.sh <<'X'
#!/bin/bash
mapfile lines
echo "${lines[0]%$'\n'}" >>"$REDUCED"
case "${lines[*]}" in *" 999"$'\n'*) until [ -e "$GATE" ]; do sleep 0.02; done ;; esac
printf '%s' "${lines[@]}"
X
chmod +x map.sh reduce.sh
served=(--json --lines-per-task 100 --reducers 4 --file map.sh --file reduce.sh --map ./map.sh --reduce ./reduce.sh hdfs:///numbers -o hdfs:///moved/)
touch "$GATE"
check "the answer of one machine" eval 'weft run -q "${served[@]:1:12}" numbers -o moved.expected/ && rm -rf moved.expected/_*'

# machine NAME: from here on this machine is another one, as far as files say so.
machine() {
    mkdir -p "$dir/$1/tmp" "$dir/$1/home"
    export TMPDIR=$dir/$1/tmp HOME=$dir/$1/home XDG_CACHE_HOME=$dir/$1/home/.cache
    export XDG_CONFIG_HOME=$HOME/.config XDG_STATE_HOME=$HOME/.local/state
}
# serve COUNT: a server, and as many clients.
serve() {
    : >server.log; : >client.log
    open_server "${served[@]}"
    join "$1"
}
hidden() { weft ls hdfs:/// | grep '/\.moved\.weft-'; }
parts() { weft ls "$(hidden)" 2>/dev/null | grep -c '/part-'; }
# copied: the journal there knows of three pieces; it is written once a second.
copied() { [ "$(parts)" = 3 ] && weft ls "$(hidden)/.weft-journal/*/origin" >/dev/null 2>&1 && sleep 2.5; }
begin_moved() {
    weft rm -r -f hdfs:///moved 'hdfs:///.moved.weft-*' 2>/dev/null
    rm -rf "$GATE" "$dir/one" "$dir/two" "$LOG" "$REDUCED"
    machine one
    serve 2
    await copied
}
lose_server() { kill -9 $server; wait $server 2>/dev/null; }
lose_clients() {
    kill -9 "${clients[@]}"
    wait "${clients[@]}" 2>/dev/null
    clients=()
}
# same_end SENTENCE: the job ends well on the second machine.
same_end() {
    touch "$GATE"
    all_end
    check "$1: it ends well" is "$code $codes" "0 ${2:-0 0 }"
    check "$1: the same bytes" eval 'rm -rf back && weft get hdfs:///moved back && rm -rf back/_* && diff -r moved.expected back'
    check "$1: each task is counted once" is "$(grep -o '"tasks.maps":[0-9]*' server.log | tail -n 1)" '"tasks.maps":40'
    check "$1: only the answer is left there" eval 'is "$(hidden)" ""; is "$(weft ls -R hdfs:///moved | grep -c journal)" 0'
    check "$1: and nothing here" is "$(ls -A "$dir/two/tmp")" ""
    [ "$code" = 0 ] || note <server.log
}

begin_moved
check "three of four parts and the journal are in HDFS" is "$(parts)" 3
check "the journal is for its owner alone" eval 'is "$(weft ls -l -R "$(hidden)/.weft-journal" | grep -vE "^(-rw-------|drwx------)")" ""'
before=$(wc -l <"$REDUCED")
lose_server
lose_clients
machine two
serve 2
await '[ "$(wc -l <"$REDUCED")" -gt "$before" ]'
same_end "all machines are lost"
check "only the part that was missing is made again" is "$(wc -l <"$REDUCED")" "$((before + 1))"

begin_moved
before=$(wc -l <"$REDUCED") maps=$(wc -l <"$LOG")
port=$(sed 's/.*://' port)
lose_server
machine two
served+=(--listen "localhost:$port")
serve 0
await '[ "$(grep -c "has joined" server.log)" = 2 ]'
same_end "clients are still there"
check "no map task is run again" is "$(wc -l <"$LOG")" "$maps"
served=("${served[@]:0:${#served[@]}-2}")

# As if it had come from another machine, whose processes this one does not see.
begin_moved
lose_server
lose_clients
before=$(wc -l <"$REDUCED")
dfs -mv "$(hidden | sed 's/^hdfs://; s/^\/\///')" /.moved.weft-0123abcd-1-00000000
machine two
begun=$SECONDS
serve 2
check "a machine that is silent is watched for some seconds" test $((SECONDS - begun)) -ge 5
await '[ "$(wc -l <"$REDUCED")" -gt "$before" ]'
same_end "another machine is lost"
check "there, too, one part was missing" is "$(wc -l <"$REDUCED")" "$((before + 1))"

# One that works is left alone, and the slower one loses.
begin_moved
first=$server first_clients=("${clients[@]}")
clients=()
machine two
serve 1
await '[ -s port ]'
check "a server that works is left alone" is "$(hidden | wc -l)" 2
touch "$GATE"
all_end
second=$code
wait "$first"
check "of two servers one has the answer" is "$(printf '%s\n' $? "$second" | sort | tr '\n' ' ')" "0 5 "
wait "${first_clients[@]}"
check "and it is whole" eval 'rm -rf back && weft get hdfs:///moved back && rm -rf back/_* && diff -r moved.expected back'
check "nothing of the other is left there" is "$(hidden)" ""

# One that was taken for dead, because nothing of it came through, comes back.
begin_moved
first=$server first_clients=("${clients[@]}")
clients=()
kill -STOP "$first"
dfs -mv "$(hidden | sed 's/^hdfs://; s/^\/\///')" /.moved.weft-0123abcd-1-00000000
machine two
serve 2
kill -CONT "$first"
same_end "a server that was taken for dead"
wait "$first"
check "the one that comes back loses" is $? 5
check "and says to whom" grep -q 'another run of the same command has taken over' server.log
wait "${first_clients[@]}"

# A run without clients.
weft rm -r hdfs:///moved
rm -rf "$GATE" "$dir/one" "$dir/two" "$REDUCED"
machine one
"$WEFT" run -n 2 "${served[@]}" >run.log 2>&1 &
run=$!
await copied
before=$(wc -l <"$REDUCED")
kill -9 $run
wait $run 2>/dev/null
machine two
touch "$GATE"
check "weft run, too, continues what another machine has begun" eval 'weft run -n 2 "${served[@]}" 2>run.log && grep -o "\"resumed_tasks\":3" run.log'
check "only one part is made by it" is "$(wc -l <"$REDUCED")" "$((before + 1))"
check "it has the same bytes" eval 'rm -rf back && weft get hdfs:///moved back && rm -rf back/_* && diff -r moved.expected back'
check "and leaves nothing" is "$(hidden)$(ls -A "$dir/two/tmp")" ""

# Killed at random moments, and continued on another machine each time; with it its clients, or not.
cat >naps.sh <<'X'
#!/bin/bash
mapfile lines
sleep 0.2
printf '%s' "${lines[@]}"
X
chmod +x naps.sh
served=(--json --lines-per-task 250 --reducers 8 --file naps.sh --map cat --reduce ./naps.sh hdfs:///numbers -o hdfs:///moved/)
machine zero
weft run -q "${served[@]:1:10}" numbers -o naps.expected/ && rm -rf naps.expected/_*
# wander: up to six machines, of which the last one ends the job.
wander() {
    local i
    weft rm -r -f hdfs:///moved
    clients=()
    for ((i = 0; i < 6; i++)); do
        rm -rf "$dir/wander$i"
        machine "wander$i"
        serve 2
        sleep $((RANDOM % 4)).$((RANDOM % 10))
        [ $i = 5 ] || lose_server
        [ $i = 5 ] || [ $((RANDOM % 2)) = 0 ] || lose_clients
        ! weft ls hdfs:///moved/_SUCCESS >/dev/null 2>&1 || break
    done
    all_end
    weft ls hdfs:///moved/_SUCCESS >/dev/null 2>&1 || { serve 2; all_end; }
    [ "$(hidden)" = "" ] && rm -rf back && weft get hdfs:///moved back && rm -rf back/_* && diff -r naps.expected back && return
    { hidden; cat server.log; } | note
    return 1
}
export WEFT_REJOIN_MS=2000
RANDOM=15
rounds=3
! is_long || rounds=50
for ((round = 0; round < rounds; round++)); do
    check "killed at random moments, round $round" wander
done
unset WEFT_REJOIN_MS

weft rm -r -f hdfs:///moved hdfs:///numbers
unset WEFT_CHECKPOINT_MS TMPDIR
at=$name_node
export HOME=$dir/home XDG_CACHE_HOME=$dir/home/.cache XDG_CONFIG_HOME=$dir/home/.config XDG_STATE_HOME=$dir/home/.local/state
