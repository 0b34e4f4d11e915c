#!/bin/bash
# What the C interface promises, seen from outside: order of values, ready-made reducers, stages,
# places, partitioners and orders of the job's own.
# also: asan
. "$(dirname "$0")/lib.sh"

for job in order fold stages places arrange; do
    check "$job.c compiles" compile $job
done
run_job() { answer "$@"; }

# Values in input order, whatever the slots and the memory.
awk 'BEGIN { for (i = 0; i < 60000; i++) print "k" (i * 7919) % 97, i }' >pairs
awk '{ v[$1] = v[$1] (v[$1] == "" ? "" : ",") $2 } END { for (k in v) print k "\t" v[k] }' pairs | sort >expected
gives "without a combiner values arrive in input order" expected run_job ./order pairs
gives "with seven slots" expected run_job -n 7 ./order pairs
gives "in little memory" expected run_job --memory 16M -n 3 ./order pairs
split -l 7000 pairs piece.
gives "over several files" expected run_job -n 3 ./order piece.*

# shellcheck disable=SC2086 # $extra is options or nothing
fold() { run_job "$@" ./fold -f "$name" $extra pairs; }
expect() { awk "$1" pairs | sort -t $'\t' -k1,1; }
extra=
name=sum && expect '{ v[$1] += $2 } END { for (k in v) printf "%s\t%d\n", k, v[k] }' >sum
gives "weft_sum" sum fold
extra=-c && gives "weft_sum, combined" sum fold --memory 16M -n 3
extra=-b && gives "weft_sum of decimal text" sum fold
extra=
name=count && expect '{ v[$1]++ } END { for (k in v) printf "%s\t%d\n", k, v[k] }' >count
gives "weft_count" count fold
name=min && expect '!($1 in v) || $2 < v[$1] { v[$1] = $2 } END { for (k in v) printf "%s\t%d\n", k, v[k] }' >min
gives "weft_min" min fold
extra=-c && gives "weft_min, combined" min fold -n 3
name=max && expect '{ if ($2 > v[$1]) v[$1] = $2 } END { for (k in v) printf "%s\t%d\n", k, v[k] }' >max
gives "weft_max, combined" max fold -n 3
extra=
gives "weft_max" max fold
name=first && expect '!($1 in v) { v[$1] = $2 } END { for (k in v) print k "\t" v[k] }' >first
extra=-b && gives "weft_first" first fold -n 3
name=collect && tr , '\t' <expected >collect
gives "weft_collect" collect fold -n 3 --memory 16M
name=identity && expect '{ print $1 "\t" $2 }' >/dev/null
awk '{ print $1 "\t" $2 }' pairs | sort -s -t $'\t' -k1,1 >identity
gives "weft_identity" identity fold -n 3
printf 'a x\na y\na x\nb z\na b\n' >pairs.small && cp pairs pairs.large && cp pairs.small pairs
printf 'a\tb\tx\ty\nb\tz\n' >distinct
name=distinct && gives "weft_distinct" distinct fold
printf 'a 3\na 10\na 7\na 10\na -2\nb 1\n' >pairs
printf 'a\t10\t10\t7\nb\t1\n' >top
extra='' name=top && gives "weft_top of three" top fold
printf 'a 1\na 2\nb 1\nb 1\nb 2\nc 10\n' >pairs
printf 'a\t1.5\nb\t1.3333333333333333\nc\t10\n' >mean
name=mean && gives "weft_mean, printed so that it reads back the same" mean fold
# 0.1 added ten times is exactly 1 when the sum is exact and rounded once; 1e16 + 1 - 1e16 is 1.
{ for _ in 1 2 3 4 5 6 7 8 9 10; do echo 'tenth 0.1'; done && printf 'big 1e16\nbig 1\nbig -1e16\n'; } >pairs
printf 'big\t1\ntenth\t1\n' >exact
extra=-d name=sum && gives "weft_sum of doubles is exact and rounded once" exact fold
extra='-d -c' && gives "with a combiner too" exact fold -n 2
printf 'a 9223372036854775807\na 1\n' >pairs
extra='' && fails_with "an overflow of weft_sum fails the job" 1 'overflow' weft run ./fold -f sum pairs
printf 'a pear\n' >pairs
fails_with "a value that is no number fails the job" 1 'number|pear' weft run ./fold -f sum -b pairs
fails_with "a configure that refuses is wrong usage" 2 'invalid|argument|fold' weft run ./fold -f nothing pairs

# Stages
generate words 300000 511 >text
oracle words text | awk -F '\t' '{ v[$2] = v[$2] "\t" $1 } END { for (k in v) print k v[k] }' | sort >expected
gives "the output of one stage is the input of the next" expected run_job ./stages text
gives "the same in little memory with three slots" expected run_job -n 3 --memory 16M ./stages text

# Places
printf 'one\n\nthree' >p1 && printf 'x\n' >p2
printf 'p1:0:one\np1:4:\np1:5:three\np2:0:x\n' >expected
gives "a map-only job keeps input order and knows name and offset" expected run_job ./places p1 p2
generate words 9000000 512 >big
awk '{ printf "big:%d:%s\n", offset, $0; offset += length($0) + 1 }' big >expected
gives "also across splits" expected run_job -n 3 ./places big
try weft run --json ./places p1 p2
check "counters are in the summary" eval 'tail -n 1 "$err" | jsonlines | grep -qE "lines.* 4$"'

# Arrangement
oracle words text >counts
LC_ALL=C sort -t $'\t' -k1,1 -r counts >expected
gives "an order of the job's own" expected run_job ./arrange -b text
rm -rf parts && check "a partitioner of the job's own" answer ./arrange -p text --reducers 3 -o parts/
check "puts each key where it says" eval '
    n=0; for part in parts/part-*; do
        awk -v n=$n "BEGIN { for (i = 1; i < 256; i++) o[sprintf(\"%c\", i)] = i }
            o[substr(\$0, 1, 1)] % 3 != n { bad = 1 } END { exit bad }" "$part" || exit 1; n=$((n + 1)); done'
cat parts/part-* | sort >actual
same "and loses none" counts actual

# Jobs from inside a program
compile_cpp() {
    clang-14 -x c++ -std=c++17 -nostdinc++ -Wall -Wextra -Werror -I"$root/include" -fsyntax-only "$e2e/jobs/$1.c"
}
check "a program that submits without options compiles as C" compile submit_null
check "and as C++" compile_cpp submit_null
check "without options there is no input, and that is said" eval './submit_null | grep -qi input'

finish
