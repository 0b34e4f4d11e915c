#!/bin/bash
# Clients that are slow, stop or come back: others do their tasks, nobody waits for them, and the bytes are those of weft run.
# takes long
. "$(dirname "$0")/lib.sh"

export WEFT_TOKEN=000102030405060708090a0b0c0d0e0f
export STATE=$PWD/state # what the commands tell each other
seq 1 160 >numbers

# The command of all cases: passes its lines on. What it waits for depends on WHO runs it, and on the CASE.
cat >work.sh <<'END'
task=$mapreduce_task_partition
wait_for() { until [ -e "$STATE/$1" ]; do sleep 0.05; done; }
case $CASE.$WHO in
backup.slow) : >"$STATE/begun.$task" && wait_for never ;;
original.slow | both.slow | dies.slow) : >"$STATE/begun.$task" && wait_for "again.$task" ;;
original.fast) [ ! -e "$STATE/begun.$task" ] || { : >"$STATE/again.$task" && wait_for never; } ;;
both.fast | dies.fast) : >"$STATE/again.$task" ;;
*.late) sleep 0.5 ;;
esac
: >"$STATE/ended.$WHO"
sed "s/\$/ x/"
END

# open_server WORD...: starts a server; $server is its process, $at its address.
open_server() {
    rm -rf port state && mkdir state && : >client.log
    "$WEFT" server --listen localhost:0 --port-file port --timeout 90s "$@" >"$out" 2>"$err" &
    server=$!
    until [ -s port ] || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
    at=$(cat port 2>/dev/null)
}

# join WHO: a client with one slot; its process is $client.
join() {
    WHO=$1 "$WEFT" client -q -n 1 "$at" >>client.log 2>&1 &
    client=$!
}

# equal SENTENCE: the server has ended well, with the bytes of weft run.
equal() {
    wait $server
    code=$?
    if [ $code = 0 ] && cmp -s expected "$out"; then
        ok "$1"
    else
        not_ok "$1"
        { echo "exit $code" && head -n 8 "$err" client.log && cmp expected "$out"; } | note
    fi
}

map=(--lines-per-task 20 --map 'sh work.sh' --file work.sh numbers)
reduce=(--lines-per-task 20 --map 'sh work.sh' --reduce cat --file work.sh numbers)

# ---- Two attempts of one task ----------------------------------------------------------------------------

# cases KIND WORD...: a slow client, and a fast one that does the slow one's tasks a second time.
cases() {
    local kind=$1 slow
    shift
    CASE=none WHO=none "$WEFT" run -q "$@" >expected
    for CASE in backup original both; do
        export CASE
        open_server --json "$@"
        join slow
        slow=$client
        until ls state/begun.* >/dev/null 2>&1; do sleep 0.02; done
        join fast
        equal "$kind: $CASE"
        wait $slow $client
        check "$kind: $CASE: the second attempts are counted, where they were begun" grep -q \
            '"backups":\([1-9][0-9]*\),"resumed.*"clients":.*"backups":\1[,}]' "$err"
    done
}

mkdir -p state
cases "without a reduce" "${map[@]}"
cases "with a reduce" "${reduce[@]}"

# The client whose attempt was the first to end is killed; the third one does its tasks again.
export CASE=dies
open_server -q "${reduce[@]}"
join slow
until ls state/begun.* >/dev/null 2>&1; do sleep 0.02; done
join fast
fast=$client
until ls state/again.* >/dev/null 2>&1; do sleep 0.02; done
join late
kill -9 $fast && disown $fast
equal "with a reduce: the one that was first dies"
wait

# ---- Two attempts that differ --------------------------------------------------------------------------------

# Both end at about the same time, so that it depends on the moment whether both are compared.
cat >differs.sh <<'END'
task=$mapreduce_task_partition
mapfile lines
case $WHO in
slow) : >"$STATE/begun.$task" && until [ -e "$STATE/again.$task" ]; do sleep 0.005; done ;;
*) [ ! -e "$STATE/begun.$task" ] || : >"$STATE/again.$task" ;;
esac
printf '%s' "${lines[@]}" && echo $WHO
END
differs() {
    local i
    for ((i = 0; i < 8; i++)); do
        rm -rf differs # of a round that ended well
        open_server "${@:2}" --lines-per-task 20 --map 'bash differs.sh' --file differs.sh numbers
        join slow
        slow=$client
        until ls state/begun.* >/dev/null 2>&1; do sleep 0.02; done
        join fast
        wait $server
        code=$?
        wait
        [ $code = 0 ] || break
    done
    check "$1: a job that is not deterministic fails" is "$code" 1
    says "$1: naming both clients" \
        "not deterministic: piece [0-9]* .* bytes at client [^ ]*/$slow, .* at client [^ ]*/$client; |.* bytes at client [^ ]*/$client, .* at client [^ ]*/$slow; "
}
differs "to the server"
differs "to a shared directory" --shared -o differs/

# ---- Python ----------------------------------------------------------------------------------------------

# The slow client has done lines 1 to 40 when it waits in the task of line 41. The fast one does that, too; so the slow one's sums, a part of which its
# interpreter keeps, are dropped, and lines 1 to 40 are done again, by both.
cat >sums.py <<'END'
import os, time

who, state = os.environ.get("WHO"), os.environ["STATE"]


def mapfn(line):
    if who == "slow" and line == "41" and not os.path.exists(state + "/begun"):
        open(state + "/begun", "w").close()
        while not os.path.exists(state + "/again"):
            time.sleep(0.05)
        time.sleep(0.5)
    if who == "fast" and line == "60":
        open(state + "/again", "w").close()
    if who == "fast" and line in ("1", "21"):
        time.sleep(1)
    yield int(line) % 7, int(line)


fold = sum
END
if ls "$(dirname "$WEFT")"/python/weft/_slot*.so >/dev/null 2>&1 && ! is_sanitized; then
    export WEFT_PYTHON=/usr/bin/python3 PYTHONDONTWRITEBYTECODE=1
    [ -x $WEFT_PYTHON ] || WEFT_PYTHON=python3
    WHO=none "$WEFT" run -q --lines-per-task 20 sums.py numbers >expected
    open_server -q --lines-per-task 20 sums.py numbers
    join slow
    until [ -e state/begun ] || ! kill -0 $server 2>/dev/null; do sleep 0.02; done
    join fast
    equal "a Python job with a client that is slow"
    wait
else
    skip "a Python job with a client that is slow" "the package is not built"
fi

# ---- Clients that stop -----------------------------------------------------------------------------------

# stopped SENTENCE WHEN WORD...: one of two clients is stopped after its first task, and continued when the server has ended or, if
# WHEN is during, when the other one has done some of its tasks.
stopped() {
    local sentence=$1 when=$2 stopped
    shift 2
    export CASE=none
    open_server "$@"
    join stopped
    stopped=$client
    until [ -e state/ended.stopped ]; do sleep 0.02; done
    kill -STOP $stopped
    join late
    if [ "$when" = during ]; then
        until grep -q 'do its tasks again\|is lost' "$err" || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
        kill -CONT $stopped
    fi
    equal "$sentence"
    kill -CONT $stopped 2>/dev/null
    wait
}

CASE=none WHO=none "$WEFT" run -q "${map[@]}" >expected
stopped "a client that stops and continues after the end, without a reduce" after "${map[@]}"
CASE=none WHO=none "$WEFT" run -q "${reduce[@]}" >expected
stopped "a client that stops and continues after the end" after "${reduce[@]}"
stopped "a client that stops and continues while others do its tasks" during "${reduce[@]}"

check "nothing is left" is "$(ls -A "$TMPDIR")" ""
finish
