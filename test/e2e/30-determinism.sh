#!/bin/bash
# The bytes of the output are the same for any number of slots and any memory budget.
# takes long
. "$(dirname "$0")/lib.sh"

mkdir in
generate words 4000000 301 >in/words
generate spots 100000 302 >in/spots
# GNU sort 9.1 takes the byte 0x80 for a thousands separator in numbers, in the C locale too.
generate bytes 1500000 303 | tr '\200' '\201' >in/bytes
printf 'no end' >in/end
generate lines 60000 304 >in/lines

cat_lines() { for f in "$@"; do cat "$f" && [ -n "$(tail -c 1 "$f" | tr -d '\n')" ] && echo; done; }
files=(in/bytes in/end in/lines in/spots in/words) # byte order of the names
cat_lines "${files[@]}" >all 2>/dev/null

oracle words "${files[@]}" >wordcount.expected
oracle lines "${files[@]}" >count.expected
sort all >sort.expected
sort -k2,2n -k1,1r -u all >sortkey.expected
grep -aE '[0-9a-f]{3}b' all >grep.expected
grep -aoE 'ab|[c-e]+' all >grepo.expected
oracle index "${files[@]}" >index.expected
oracle top 1000 <wordcount.expected >top.expected

run_job() {
    local job=$1
    shift
    case $job in
    sortkey) answer "$@" sort -k2,2n -k1,1r -u in ;;
    grep) answer "$@" grep '[0-9a-f]{3}b' in ;;
    grepo) answer "$@" grep -o 'ab|[c-e]+' in ;;
    top) answer "$@" wordcount --top 1000 in ;;
    *) answer "$@" "$job" in ;;
    esac
}

for job in wordcount count sort sortkey grep grepo index top; do
    gives "$job with the defaults" $job.expected run_job $job
    for limits in "1 16M" "1 256M" "2 16M" "2 32M" "3 16M" "3 256M" "7 16M" "7 32M" "7 256M"; do
        read -r slots memory <<<"$limits"
        gives "$job with $slots slots and $memory" $job.expected \
            run_job $job --slots "$slots" --memory "$memory"
    done
    gives "$job with 3 slots, 16M and 9 reducers" $job.expected \
        run_job $job --slots 3 --memory 16M --reducers 9
done

finish
