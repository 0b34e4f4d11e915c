#!/bin/bash
# --top N on any counting job: the N largest, ties by key bytes.
. "$(dirname "$0")/lib.sh"

printf 'c a b\nb a d\na e\n' >small
printf 'a\t3\nb\t2\nc\t1\n' >expected
gives "the three largest, a tie goes to the smaller key" expected answer wordcount --top 3 small
gives "--top may stand before the job" expected answer --top 3 wordcount small
gives "--top may stand behind the input" expected answer wordcount small --top 3
gives "--top=3 is the same" expected answer wordcount --top=3 small
printf 'a\t3\n' >expected
gives "the largest alone" expected answer wordcount --top 1 small
printf 'a\t3\nb\t2\nc\t1\nd\t1\ne\t1\n' >expected
gives "more than there are is all, largest first" expected answer wordcount --top 100 small
printf 'A b a\n' >case
printf 'a\t2\nb\t1\n' >expected
gives "--top goes with -i" expected answer wordcount -i --top 2 case
: >nothing
gives "the largest of nothing" nothing answer wordcount --top 3 nothing

printf 'x y\nx y\nz\n\n\n\n' >lines
printf '\t3\nx y\t2\n' >expected
gives "--top on count" expected answer count --top 2 lines

# Thousands share the smallest counts: the cut goes through a tie.
generate words 4000000 61 >text
oracle words text >all
for n in 1 10 500 30000; do
    oracle top $n <all >expected
    gives "the $n largest of many words" expected answer wordcount --top $n text
    gives "the $n largest with three slots and little memory" expected \
        answer -n 3 --memory 16M wordcount --top $n text
done
generate spots 200000 62 >spots
oracle lines spots | oracle top 1000 >expected
gives "the 1000 largest of many lines" expected answer count --top 1000 spots
gives "the 1000 largest whatever the number of reducers" expected \
    answer count --top 1000 --reducers 5 spots
oracle words text | oracle top 50 >expected
check "--top into a file" answer wordcount --top 50 text -o top.txt
same "the file has the N largest" expected top.txt

fails_with "--top 0 is wrong usage" 2 top weft run wordcount --top 0 small
fails_with "--top x is wrong usage" 2 top weft run wordcount --top x small
fails_with "--top of a job that counts nothing is wrong usage" 2 'top' weft run sort --top 3 small

finish
