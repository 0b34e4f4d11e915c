#!/bin/bash
# On a terminal a live progress line: stage, percent, MB/s, time left.
. "$(dirname "$0")/lib.sh"

sentence="a terminal gets a progress line"
if ! command -v script >/dev/null || ! script -qec true /dev/null >/dev/null 2>&1; then
    skip "$sentence" "no script(1) to make a terminal with"
    finish
fi
compile slow
# Forty megabytes in 400 lines: several splits, each of them slow.
head -c 100000 /dev/zero | tr '\0' ' ' >pad
for i in $(seq 1000 1399); do echo "$i$(cat pad)"; done >lines
sed 's/$/\t1/' lines >expected

# on_terminal COMMAND: stderr is a terminal whose text goes to ./screen, stdout a file.
on_terminal() {
    script -qec "$1" /dev/null >screen 2>&1 </dev/null
}
on_terminal "TERM=xterm '$WEFT' run ./slow -u 6000 lines >actual"
same "the answer is the same" expected actual
check "$sentence, redrawn in place" grep -q $'\r.*%.*\r' screen
check "it names the stage" grep -qi 'map' screen
check "it shows a speed" grep -q 'B/s' screen
check "it shows the time left" grep -qiE 'left|eta' screen
check "the summary follows" grep -q 'records' screen
lines_now=$(tr '\r' '\n' <screen | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | awk '{ if (length > max) max = length } END { print max }')
check "no line is wider than the terminal" [ "$lines_now" -le 100 ]

on_terminal "TERM=xterm '$WEFT' run -q ./slow -u 1000 lines >actual"
check "-q shows nothing" [ ! -s screen ]
on_terminal "TERM=dumb NO_COLOR=1 '$WEFT' run ./slow -u 1000 lines >actual"
check "NO_COLOR shows no colour" eval '! grep -q $'"'\x1b\\[[0-9;]*m'"' screen'
on_terminal "TERM=xterm '$WEFT' run --json ./slow -u 1000 lines >actual"
tr -d '\r' <screen >screen.json
check "--json has no progress line on a terminal either" jsonlines <screen.json
on_terminal "stty cols 40; TERM=xterm '$WEFT' run ./slow -u 2000 lines >actual"
progress=$(tr '\r' '\n' <screen | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | grep '^map.*%' | awk '{ if (length > max) max = length } END { print max + 0 }')
check "a narrow terminal gets a line" [ "$progress" -gt 0 ]
check "no wider than it" [ "$progress" -le 40 ]

# One task in one block: what counts is where in it the job is.
seq 1 100 >short
on_terminal "TERM=xterm '$WEFT' run ./slow -u 15000 short >actual"
check "a job of one task shows how far it is" eval 'tr "\r" "\n" <screen | grep -qE "^map +[1-9][0-9]?%"'

finish
