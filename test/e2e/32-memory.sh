#!/bin/bash
# --memory is a promise for the anonymous and shared memory of the whole process tree.
# takes long
. "$(dirname "$0")/lib.sh"

generate lines 4500000 321 >distinct # 148 MB
generate words 24000000 322 >text
sort -S 1G --parallel=2 distinct >sorted
# Every line is one word and nearly every one differs: the counts follow from the sorted lines.
uniq -c sorted | awk '{ print $2 "\t" $1 }' >counted
oracle words text >words

# within SENTENCE MIB EXPECTED ARGUMENT...: the answer is right, and the tree's peak stays inside.
within() {
    local sentence=$1 mib=$2 expected=$3 peak
    shift 3
    try corral -m "$dir/peak" -l "$left" -- "$WEFT" run -q --memory "${mib}M" --tmp "$dir/tmp" "$@"
    same "$sentence: the answer" "$expected" "$out"
    peak=$(cat "$dir/peak")
    if is_sanitized; then
        skip "$sentence: the promise" "a sanitizer needs memory of its own"
    else
        check "$sentence: $((peak / 1024)) of $mib MiB used" [ "$peak" -le $((mib * 1024 * 11 / 10)) ]
    fi
}

within "sort of 148 MB in 32M" 32 sorted sort distinct
within "sort of 148 MB in 64M with 2 slots" 64 sorted -n 2 sort distinct
within "sort of 148 MB in 16M with 4 slots" 16 sorted -n 4 sort distinct
within "distinct words in 32M" 32 counted wordcount distinct
within "distinct words in 64M" 64 counted -n 2 wordcount distinct
within "distinct lines in 16M" 16 counted count distinct
within "text in 16M" 16 words wordcount text
within "text in 64M" 64 words wordcount text
within "grep of everything in 16M" 16 distinct grep '' distinct
piped() { cat distinct | corral -m "$dir/peak" -l "$left" -- "$WEFT" run -q --memory 32M sort -; }
gives "a pipe of 148 MB in 32M" sorted piped
is_sanitized || check "stays inside too" [ "$(cat "$dir/peak")" -le $((32 * 1024 * 11 / 10)) ]
nothing_left "what was spilled is gone"

fails_with "15M is refused, and the least is named" 2 '16 ?M' weft run --memory 15M wordcount text
fails_with "1 byte is refused" 2 '16 ?M' weft run --memory 1 wordcount text
fails_with "0 is refused" 2 'memory' weft run --memory 0 wordcount text
printf 'a\n' >small && printf 'a\t1\n' >expected
gives "16M is enough for something small" expected answer --memory 16M wordcount small
gives "16777216 is 16M" expected answer --memory 16777216 wordcount small
gives "16MiB, 1G and 1GB are sizes" expected answer --memory 1G wordcount small
gives "a hundred slots in 16M are fewer slots, not an error" expected answer -n 100 --memory 16M wordcount small

finish
