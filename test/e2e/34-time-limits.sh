#!/bin/bash
# --timeout ends the job, --task-timeout an attempt.
. "$(dirname "$0")/lib.sh"

compile misbehave && compile slow
printf 'a\nboom\nb\n' >bomb
seq 1 1000 >lines
mkfifo never

# A pipe that stays open and empty: the reader waits for ever.
exec 9<>never
waiting() { weft run --timeout 500ms wordcount - -o counts <never; }
fails_with "--timeout ends a job that waits for its input" 6 'timeout|timed out|deadline' waiting
says "the message names the limit" '500 ?ms|0\.5 ?s'
check "and there is no output" [ ! -e counts ]
exec 9>&-
fails_with "--timeout ends a job whose answer nobody reads" 6 'timeout|timed out|deadline' \
    weft run --timeout 500ms wordcount bomb -o never
says "that message names the limit, too" '500 ?ms|0\.5 ?s'
fails_with "--timeout ends a job that loops" 6 'timeout|timed out|deadline' \
    weft run --timeout 1s ./misbehave -m loop bomb
fails_with "--timeout ends a job that is merely slow" 6 'timeout|timed out|deadline' \
    weft run --timeout 0.5s ./slow -u 100000 lines
nothing_left "nothing is left of them"

fails_with "--task-timeout ends an attempt that loops" 6 'task-timeout|timed out|deadline' \
    weft run --task-timeout 300ms --max-attempts 2 ./misbehave -m loop bomb -o counts
says "the message names the input" 'bomb'
check "and there is no output" [ ! -e counts ]
echo bang >bang
fails_with "--task-timeout ends a reducer that loops" 6 'task-timeout|timed out|deadline' \
    weft run --task-timeout 300ms --max-attempts 2 ./misbehave -r loop bang
seq 1 20 >few
sed 's/$/\t1/' few | sort >expected
gives "neither ends a job that is fast enough" expected \
    weft run -q --timeout 1m --task-timeout 30s ./slow -u 1000 few
gives "2h is a time" expected weft run -q --timeout 2h ./slow few

finish
