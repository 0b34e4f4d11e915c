#!/bin/bash
# weft queue beside those who are slow: a reader that does not read, a writer that does not write on.
# also: asan tsan
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

"$WEFT" host --journal kept --listen localhost:0 --port-file port >host.out 2>host.err &
host=$!
trap 'kill $host 2>/dev/null; cleanup' EXIT
until [ -e port ] || ! kill -0 $host; do sleep 0.02; done
used=$(cat port)
export WEFT_AT=localhost:$used
# lines FROM TO: lines of 1,000 bytes.
lines() { seq -f '%0999.0f' "$1" "$2"; }

# --- a reader that does not read ---------------------------------------------------------------------

# all_or_one QUEUE ITEMS [OPTION...]: takes all of a queue for a reader who waits until another has taken one.
all_or_one() {
    local queue=$1 items=$2 code
    shift 2
    lines 1 "$items" >"$queue.in"
    weft queue push "$@" "$queue" <"$queue.in"
    weft queue close "$queue"
    mkfifo "$queue.go"
    { weft queue take --all "$queue"; echo $? >"$queue.code"; } | { read -r _ <"$queue.go"; cat; } >"$queue.all" &
    # What it could write is done; what it could not lies in the queue, nothing of it here.
    check "$queue: what fits into the pipe is done, nothing else is kept from others" \
        until_state "$queue" '"size":[1-9][0-9]*,.*"leased":0,'
    weft queue take --timeout 10s "$queue" >"$queue.one"
    code=$?
    check "$queue: who is idle gets an item" is $code 0
    echo >"$queue.go"
    wait $!
    check "$queue: the rest is printed when it is read" is "$(cat "$queue.code")" 0
    sort "$queue.all" "$queue.one" >"$queue.out"
    same "$queue: and each item once" "$queue.in" "$queue.out"
}
all_or_one few 100
all_or_one many 20000
all_or_one limited 1000 --deliveries 2

# An item that is begun is written to its end, by the one who began it.
head -c 300000 /dev/zero | tr '\0' x >big
echo >>big
(cat big && lines 1 5) | weft queue push begun
weft queue close begun
mkfifo begun.go
weft queue take --all begun | { read -r _ <begun.go; cat; } >begun.all &
check "only the item that is half written stays" until_state begun '"size":5,.*"leased":1,'
weft queue take --timeout 10s begun >begun.one
echo >begun.go
wait $!
(cat big && lines 2 5) >expected
same "a long item is not torn" expected begun.all

# Killed while it is stuck: what was not written is there, what was written is not.
lines 1 1000 >expected
weft queue push killed <expected
weft queue close killed
mkfifo killed.go
"$WEFT" queue take --all killed > >(read -r _ <killed.go; cat >killed.all; touch killed.end) &
taker=$!
# Stuck: it has taken some, what it could write is done, and there is nothing new for half a second.
is_stuck() {
    local i was
    until_state killed '"size":[1-9][0-9]\{0,2\},.*"leased":0,' || return
    for ((i = 0; i < 200; i++)); do
        was=$(state killed)
        sleep 0.5
        [ "$(state killed)" = "$was" ] && return
    done
    return 1
}
check "it takes until nothing more fits" is_stuck
kill -9 $taker
wait $taker 2>/dev/null
echo >killed.go
weft queue take --all killed >killed.rest
for ((i = 0; i < 200; i++)); do [ -e killed.end ] && break; sleep 0.05; done
cat killed.all killed.rest | sort >killed.out
same "a taker that was killed loses nothing and leaves nothing twice" expected killed.out

# --- a writer that does not write on ------------------------------------------------------------------

# slow_push QUEUE [OPTION...]: each line is there while the next is not written yet.
slow_push() {
    local queue=$1 i pid
    shift
    mkfifo "$queue.pipe"
    weft queue push "$@" "$queue" <"$queue.pipe" &
    pid=$!
    exec 7>"$queue.pipe"
    for i in 1 2 3; do
        echo "a$i" >&7
        echo "b$i" >&7
        check "$queue: lines $i are there before more is written" until_state "$queue" "\"size\":$((2 * i)),"
    done
    printf end >&7
    exec 7>&-
    wait $pid
    check "$queue: and the end without a newline" is "$(state "$queue" | grep -o '"size":[0-9]*')" '"size":7'
}
slow_push lines
slow_push keyed --key-lines

finish
