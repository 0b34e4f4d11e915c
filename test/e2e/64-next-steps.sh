#!/bin/bash
# What newcomers get wrong, and what the machine does to them: each message says what, why and what to do
# next, and does not advise what does not help.
. "$(dirname "$0")/lib.sh"

seq 200000 >numbers
printf 'a b\n' >text

# --- no room
if [ -w /dev/full ]; then
    for job in sort wordcount "grep 1"; do
        # shellcheck disable=SC2016,SC2086
        fails_with "$job to a full disk" 5 'no space left' sh -c '"$WEFT" run -q "$@" >/dev/full' sh $job numbers
        says "says what to do" 'try: make room'
    done
    # shellcheck disable=SC2016
    fails_with "help to a full disk" 5 'try: make room' sh -c '"$WEFT" help >/dev/full'
else
    skip "a full disk" "there is no /dev/full"
fi

# --- --tmp (63-places has the rest)
fails_with "--tmp of a streaming job" 4 'try: --tmp DIR' \
    weft streaming -files text -input text -output out -mapper cat --tmp nowhere

# --- commands that want a shell
fails_with "a pipe in a streaming job" 1 "sh -c 'COMMAND'" weft streaming -input text -output out -mapper 'cat | sort'
check_not "is not answered with an option that is not there" grep -q -e '--shell' "$err"
fails_with "a grep that finds nothing there" 1 "sh -c 'grep" weft streaming -input text -output out -mapper 'grep z'
check_not "neither" grep -q -e '--shell' "$err"
fails_with "a pipe in a job of commands" 2 'try: --shell' weft run --map 'cat | sort' text

# --- little memory: what the process may not have, more --memory cannot give
# shellcheck disable=SC2317  # called by what checks
limited() {
    local kilobytes=$1
    shift
    (ulimit -v "$kilobytes" && "$WEFT" run -q "$@")
}
if is_sanitized; then
    skip "a limit on memory" "a sanitizer takes more"
else
    sort numbers >expected
    gives "ulimit -v is heeded by what is taken without --memory" expected limited 60000 sort numbers
    # Enough of it for the default is enough: the heaps of threads do not take it away.
    seq 2000000 >many
    for kilobytes in 120000 200000 250000; do
        gives "and with $kilobytes kB" many limited $kilobytes --slots 2 sort -n many
    done
    fails_with "too little of it is told as such" 5 'ulimit -v' limited 20000 sort numbers
    # Somewhere below what it needs it fails; wherever that is, it does not ask for more.
    for kilobytes in 24000 28000 32000 36000; do
        try limited $kilobytes --memory 4G wordcount numbers
        check_not "with $kilobytes kB it asks for no more --memory" grep -q 'more --memory' "$err"
    done
fi

# --- inputs that are damaged, or go away
head -c 64 /dev/zero | tr '\0' x >bad.tfrecord
fails_with "a damaged tfrecord file" 1 'try: fetch or write the file again' \
    weft run -q count --format tfrecord bad.tfrecord
printf '"a,b\nc' >bad.csv
fails_with "an open quote" 1 'try: write a quote' weft run -q count --format csv bad.csv
printf '12345' >bad.fixed
fails_with "half a record" 1 'try: --format fixed' weft run -q count --format fixed:4 bad.fixed
ln -s nowhere dangling
fails_with "a link that leads nowhere" 4 'is a link to nowhere' weft streaming -input dangling -output out -mapper cat
says "says what to do" 'try: '
fails_with "an input that is not there" 4 'try: ls -l absent' weft streaming -input absent -output out -mapper cat
finish
