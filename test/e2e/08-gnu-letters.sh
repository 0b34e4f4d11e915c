#!/bin/bash
# The letters of GNU grep and sort: the same answers, over random calls, and what there is not is refused by
# name with what to use instead.
# takes long
. "$(dirname "$0")/lib.sh"

random_calls=250
is_long && random_calls=5000
for job in grep sort; do
    mkdir $job
    for seed in 1 2; do
        same_as_gnu() (cd $job && python3 "$root/test/oracle/gnu_cases.py" "$WEFT" $job "$1" $random_calls)
        check "$random_calls calls of $job answer as GNU's (seed $seed)" same_as_gnu $seed
    done
done

# Files that are cut into many tasks: numbers, limits and names do not depend on where.
generate words 20000000 81 >big
generate words 9000000 82 >other
as_grep() {
    grep -ahE "$@" >expected
    gives "grep $* over files that are split" expected answer -n 3 grep "$@"
    gives "grep $* in little memory" expected answer -n 2 --memory 16M grep "$@"
}
as_grep -n 'zzc' big other
as_grep -nv e big other
as_grep -m 7 'a' big other
as_grep -n -m 1000 -v 'a' big other
as_grep -c -m 70 'a' big other
as_grep -l 'zzc' big other
as_grep -L 'zzzzzzzzzz' big other
as_grep -no 'zz[a-c]' other
as_grep -H -c 'b' big other
as_grep -nw 'ab' big
gzip -k other
grep -ahnE 'zzc' other >expected
gives "line numbers of a compressed file" expected answer grep -n zzc other.gz

printf 'one\ntwo\n' >few
from_pipe() { cat few | weft run -q grep "$@"; }
printf '(standard input):2:two\n' >expected
gives "-H names a pipe as grep does" expected from_pipe -nH two
printf 'few:2\n' >expected
gives "-c with -H" expected answer grep -cH -e one -e two few
gives "-e may stand behind the file" expected answer grep few -cH -e one -e two
check "grep -q finds one" answer grep -q two few
try answer grep -q three few
check "grep -q finds none: exit 1, no word" [ "$code:$(cat "$out" "$err")" = 1: ]
from_nothing() { weft run -q grep -q '' /dev/null; }
try from_nothing
check "grep -q of nothing" [ "$code" = 1 ]
answer -0 grep -n b <(printf 'a\0b\nb\0') >given
printf '2:b\nb\n' >expected
same "records that are no lines are numbered, too" expected given

# Human numbers from a pipe: -h is sort's as soon as there is something to sort.
printf '1G\n10K\n2M\n' >sizes
printf '10K\n2M\n1G\n' >expected
gives "sort -h of a file" expected answer sort -h sizes
piped() { cat sizes | weft run -q sort -h; }
gives "sort -h of a pipe" expected piped
try weft run sort -h </dev/null
check "sort -h of nothing is a question" grep -q '^Usage: weft run sort' "$out"
try weft run grep -h </dev/null
check "grep -h without a pattern is a question" grep -q '^Usage: weft run grep' "$out"
gives "grep -h with a pattern is grep's" sizes answer grep -h '' sizes
sort -m sizes few >expected.m
sort sizes few >expected
gives "sort -m merges what is sorted" expected answer sort -m expected
rm expected.m

for option in -c -C --check -R --random-sort -S --parallel=2 -T -z --reverse; do
    fails_with "sort $option is refused, and says what to use" 2 'try: ' weft run sort "$option" few
done
for option in -A -B -C -G -P -f -r -s -b -z --include=x --count --color; do
    fails_with "grep $option is refused, and says what to use" 2 'try: ' weft run grep "$option" a few
done
fails_with "sort -n -g is refused, as by GNU's" 2 'only one' weft run sort -n -g few
fails_with "grep -m needs a number" 2 'number' weft run grep -m many a few

finish
