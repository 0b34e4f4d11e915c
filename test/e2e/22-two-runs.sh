#!/bin/bash
# Two runs with one output: one wins, the output is one of the two answers, whole.
# also: asan tsan
. "$(dirname "$0")/lib.sh"

generate spots 150000 221 >text
oracle lines text >counted
sort text >sorted

# race OUTPUT OPTION...: counts and sorts into the same output at the same time.
race() {
    local output=$1
    shift
    corral -l "$left" -- "$WEFT" run count text -o "$output" "$@" 2>err.1 &
    local first=$!
    corral -l "$left" -- "$WEFT" run sort text -o "$output" "$@" 2>err.2
    code2=$?
    wait $first
    code1=$?
}

is_one_of_the_two() { cmp -s "$1" counted || cmp -s "$1" sorted; }
is_the_winner() { if [ "$code1" = 0 ]; then cmp "$1" counted; else cmp "$1" sorted; fi; }

for round in 1 2 3 4; do
    rm -f both
    race both
    check "round $round: one wins, the other is refused" \
        eval '[ "$code1 $code2" = "0 5" ] || [ "$code1 $code2" = "5 0" ] || { echo "$code1 $code2"; cat err.*; false; }'
    check "round $round: the output is the winner's, whole" is_the_winner both
done
for round in 1 2; do
    echo old >both
    race both --force
    check "round $round with --force: both succeed" [ "$code1 $code2" = "0 0" ]
    check "round $round with --force: the output is one answer, whole" is_one_of_the_two both
done
for round in 1 2; do
    rm -rf both.d
    race both.d/ --reducers 3
    check "round $round into a directory: one wins, the other is refused" \
        eval '[ "$code1 $code2" = "0 5" ] || [ "$code1 $code2" = "5 0" ] || { echo "$code1 $code2"; cat err.*; false; }'
    cat both.d/part-* >both.joined
    check "round $round into a directory: the parts are the winner's" is_the_winner both.joined
done
for round in 1 2 3 4 5 6 7 8; do
    rm -rf both.d .both.d.weft-*
    answer --shell --map 'cat; exit $mapreduce_task_partition' --lines-per-task 1000 --max-attempts 1 text -n 1 -o both.d/ 2>/dev/null
    [ -d .both.d.weft-unfinished ] || check "there is an unfinished output" false
    race both.d/ --reducers 3 --force
    check "round $round with --force over an unfinished one: both succeed" \
        eval '[ "$code1 $code2" = "0 0" ] || { echo "$code1 $code2"; cat err.*; false; }'
done
race both.d/ --reducers 3 --force
check "into a directory with --force: both succeed" [ "$code1 $code2" = "0 0" ]
cat both.d/part-* >both.joined
check "into a directory with --force: the parts are one answer, whole" is_one_of_the_two both.joined
check "nothing else is left beside the outputs" \
    [ "$(find . -mindepth 1 -maxdepth 1 | sort | tr '\n' ' ')" = "./both ./both.d ./both.joined ./counted ./err.1 ./err.2 ./sorted ./text " ]

finish
