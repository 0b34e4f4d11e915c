#!/bin/bash
# Long lines work where the budget allows; else RESOURCE_EXHAUSTED with file and offset.
. "$(dirname "$0")/lib.sh"

# giant BYTES: one line of that size, made of words, between two short lines.
giant() {
    echo first
    yes 'internationalization considerations in a very long line notwithstanding' | tr '\n' ' ' | head -c "$1"
    printf '\nlast\n'
}

mib=64
giant $((mib * 1048576)) >long
free_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)
oracle words long >words
oracle lines long >lines
sort long >sorted

gives "wordcount of a line of $mib MiB" words answer wordcount long
gives "count of a line of $mib MiB" lines answer count long
gives "sort of a line of $mib MiB" sorted answer sort long
gives "grep of a line of $mib MiB" long answer grep '' long
printf '1\n' >expected
gives "grep -c of a line of $mib MiB" expected answer grep -c 'a very long' long
gives "through a pipe" sorted eval 'answer sort - <long'
head -c -6 long >no-end
sort no-end >expected
gives "without an end" expected answer sort no-end

# in_little SENTENCE EXPECTED ARGUMENT...: right, or refused with file and offset, inside the promise.
in_little() {
    local sentence=$1 expected=$2
    shift 2
    try corral -m "$dir/peak" -l "$left" -- "$WEFT" run --memory 16M "$@" long
    if [ "$code" = 0 ]; then
        same "$sentence: it works" "$expected" "$out"
    else
        check "$sentence: RESOURCE_EXHAUSTED is exit 5" [ "$code" = 5 ]
        says "$sentence: file and offset are named" 'long.*\b6\b|\b6\b.*long'
        says "$sentence: a way out is told" '--memory'
        check "$sentence: nothing on stdout" [ ! -s "$out" ]
    fi
    is_sanitized || check "$sentence: inside the promise" [ "$(cat "$dir/peak")" -le $((16 * 1024 * 11 / 10)) ]
}
in_little "wordcount in 16M" words wordcount
in_little "count in 16M" lines count
in_little "sort in 16M" sorted sort
in_little "grep in 16M" long grep ''

if ! is_long; then
    skip "a line of 2 GiB" "only with WEFT_LONG=1"
elif [ "$free_mib" -lt 12000 ]; then
    skip "a line of 2 GiB" "less than 12 GB of memory free"
else
    giant 2147483648 >long
    sort long | cksum >expected
    grep -c long long >expected.count
    sums() { answer --memory 9G "$@" long | cksum; }
    gives "sort of a line of 2 GiB" expected sums sort
    cksum <long >expected
    gives "grep of a line of 2 GiB" expected sums grep ''
    gives "grep -c of a line of 2 GiB" expected.count answer --memory 9G grep -c long long
    awk 'BEGIN { RS = " " } 1' long | oracle words >words
    gives "wordcount of a line of 2 GiB" words answer wordcount long
    in_little "a line of 2 GiB: sort in 16M" long sort
    in_little "a line of 2 GiB: grep in 16M" long grep ''
fi

finish
