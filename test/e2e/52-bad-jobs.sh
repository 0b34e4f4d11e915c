#!/bin/bash
# Jobs that crash, loop, exit, abort, fail: a clear error, never a crash of the driver.
# also: asan
. "$(dirname "$0")/lib.sh"

# A job that leaves by exit() leaves memory behind, too.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
compile misbehave && compile once
{ seq 1 1000 && echo "boom here" && seq 1001 2000; } >bomb
{ seq 1 10 && echo bang; } >bang

while IFS=: read -r how words; do
    fails_with "a map that does $how fails the job" 1 "$words" weft run ./misbehave -m "$how" bomb -o output
    says "$how: the message names the input" 'bomb'
    check "$how: there is no output" [ ! -e output ]
    fails_with "a reduce that does $how fails the job" 1 "$words" weft run ./misbehave -r "$how" bang -o output
done <<'HOW'
segv:SIGSEGV|segmentation|signal 11
abort:SIGABRT|abort|signal 6
exit0:exit
exit7:exit.*7|7.*exit
_exit:exit
kill:SIGKILL|killed|signal 9
stack:SIGSEGV|segmentation|signal 11|stack
fail:the moon is in line 42
HOW
nothing_left "none of them leaves anything"
# The offset of the record that did it: 1 to 9 are two bytes each, and so on, 3893 in all.
try weft run ./misbehave -m segv bomb
says "a crash is charged to its record, by offset" '\b3893\b'
try weft run ./misbehave -m fail bomb
says "so is a failure" '\b3893\b'

{ seq 1 3000 | sed 's/^/x/' && echo boom; } >later
try weft run -q ./misbehave -m fail later
check "a failure is no partial answer on stdout" [ "$code:$(wc -c <"$out")" = 1:0 ]
try weft run --json ./misbehave -m segv bomb
check "with --json a crash is told in objects" jsonlines <"$err"
printed() { weft run -q ./misbehave -m print bomb; }
oracle lines bomb >expected
gives "what a job prints does not get into the answer" expected printed

# Attempts: the state file grows by a byte each time the bad record is met.
printf 'a\nboom\nb\n' >lines
printf 'a\t1\nb\t1\nboom\t1\n' >expected
for how in fail segv exit; do
    rm -f state
    gives "a map that does $how once is tried again" expected \
        weft run ./once -m $how -s "$PWD/state" lines
    check "$how: it took two attempts" [ "$(wc -c <state)" = 2 ]
done
rm -f state
gives "a map that fails three times is tried a fourth time" expected \
    weft run ./once -t 3 -s "$PWD/state" lines
rm -f state
fails_with "--max-attempts 1 means no second try" 1 'not yet' \
    weft run --max-attempts 1 ./once -s "$PWD/state" lines
check "it took one attempt, and those in which the record was looked for" [ "$(wc -c <state)" -ge 1 ]
rm -f state
fails_with "--max-attempts 3 gives up after the third" 1 'not yet' \
    weft run --max-attempts 3 ./once -t 100 -s "$PWD/state" lines
check "it took three attempts, and those in which the record was looked for" [ "$(wc -c <state)" -ge 3 ]
says "the message counts them" '3'
rm -f state
gives "--max-attempts 6 allows five failures" expected \
    weft run --max-attempts 6 ./once -t 5 -s "$PWD/state" lines
{ seq 1 200000 && echo boom && seq 1 200000; } >many
oracle lines many >expected
for how in fail segv; do
    rm -f state
    gives "in a larger input $how costs an attempt and nothing else" expected \
        weft run -n 3 ./once -m $how -s "$PWD/state" many
done

finish
