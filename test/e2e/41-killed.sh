#!/bin/bash
# kill -9: a killed worker costs attempts, not the job; a killed driver takes its worker along.
# takes long
. "$(dirname "$0")/lib.sh"

generate lines 1500000 411 >distinct # 50 MB
sort distinct >sorted
oracle words distinct >counted
compile slow
seq 1 300 >lines
sed 's/$/\t1/' lines | sort >slow.expected

for ms in 20 60 120 250; do
    gives "sort survives a worker killed after $ms ms" sorted \
        corral -w $ms -l "$left" -- "$WEFT" run --memory 32M sort distinct
    gives "wordcount survives a worker killed after $ms ms" counted \
        corral -w $ms -l "$left" -- "$WEFT" run wordcount distinct
done
# On a slow machine the worker may not have begun after 300 ms: then again, with more time for both.
for ms in 300 3000; do
    gives "a C job survives a worker killed after $ms ms" slow.expected \
        corral -w $ms -l "$left" -- "$WEFT" run ./slow -u $((ms * 50 / 3)) lines
    lost='killed|signal|lost|died|again|retr'
    grep -qE "$lost" "$err" && break
done
says "and reports that an attempt was lost" "$lost"
gives "a C job survives two killed workers" slow.expected \
    corral -w 250 -r 2 -l "$left" -- "$WEFT" run ./slow -u 5000 lines
nothing_left "a killed worker leaves nothing"
fails_with "a worker that is killed again and again ends the job" '1|3' 'killed|signal|lost|died|attempt' \
    corral -w 100 -r 100 -l "$left" -- "$WEFT" run --max-attempts 2 ./slow -u 20000 lines
check "a run into a file survives as well" corral -w 50 -l "$left" -- "$WEFT" run -q sort distinct -o output
same "and the file is right" sorted output

# The driver cannot clean up when it is killed; its worker must not stay, and a new run must work.
for ms in 5 30 100 250; do
    corral -s 9 -a $ms -e 4000 -l "$left" -- "$WEFT" run -q --memory 16M sort distinct -o killed
    check "after $ms ms the worker of a killed driver goes away by itself" [ ! -s "$left" ]
    : >"$left"
    check "and there is no half output" eval '[ ! -e killed ] || cmp killed sorted'
    rm -f killed
done
corral -s 9 -a 300 -e 4000 -l "$left" -- "$WEFT" run -q ./slow -u 10000 lines -o killed
check "the worker of a C job goes away as well" [ ! -s "$left" ]
: >"$left"
compile misbehave && echo boom >bomb
corral -s 9 -a 300 -e 4000 -l "$left" -- "$WEFT" run -q ./misbehave -m loop bomb -o killed
check "even one that loops" [ ! -s "$left" ]
: >"$left"
find "$dir/tmp" -mindepth 1 -delete
check "the same command works again" answer --memory 16M sort distinct -o killed
same "with the right answer" sorted killed

finish
