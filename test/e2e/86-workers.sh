#!/bin/bash
# --workers N: several processes share the work, and the bytes are those of one, whoever is killed.
# takes long
# also: asan tsan
. "$(dirname "$0")/lib.sh"

rounds=3
sizes=("2 1" "3 2")
is_sanitized && rounds=1 sizes=("2 1")
is_long && rounds=200
RANDOM=86

generate words 3500000 861 >words
generate lines 60000 862 >lines
generate bytes 800000 863 | tr '\200' '\201' >bytes
seq 1 4000 >numbers
sed 's/^777$/boom segv/; s/^1500$/boom fail/; s/^3999$/boom abort/' numbers >mined
gzip -k lines
compile stages && compile three_stages && compile slow && compile mines && compile order || exit 1
printf 'id,kind\n' >table.csv
seq 1 60000 | sed 's/$/,"a,b"/' >>table.csv

# ---- the same bytes ---------------------------------------------------------------------------------

# shared SENTENCE WORD...: what `weft run WORD...` prints is the same with several workers, and so is how it ends.
shared() {
    local sentence=$1 limits
    shift
    answer "$@" >expected 2>/dev/null
    local expected_code=$?
    case $sentence in
    "an empty input" | "a bad record that ends the job") ;;
    *) check "$sentence: there is an answer" test -s expected ;;
    esac
    for limits in "${sizes[@]}"; do
        read -r workers slots <<<"$limits"
        try answer --workers "$workers" --slots "$slots" "$@"
        if [ $code = $expected_code ] && cmp -s expected "$out"; then
            ok "$sentence: $workers workers"
        else
            not_ok "$sentence: $workers workers"
            { echo "exit $code, not $expected_code" && head -n 3 "$err" && cmp expected "$out"; } | note
        fi
    done
}

# span WORD...: how long it takes, in ms.
span() {
    local begun=${EPOCHREALTIME/./}
    answer "$@" >/dev/null
    echo $(((${EPOCHREALTIME/./} - begun) / 1000 + 1))
}

# killed WORD...: workers are killed at random moments; no run may fail, and the bytes are the same.
killed() {
    local i ms
    answer "$@" >expected
    ms=$(span --workers 3 --slots 1 "$@")
    for ((i = 0; i < rounds; i++)); do
        corral -w $((RANDOM % ms + 1)) -r $((RANDOM % 3 + 1)) -l "$left" -- \
            "$WEFT" run -q --workers 3 --slots 1 "$@" >"$out" 2>"$err"
        code=$?
        [ $code = 0 ] && cmp -s expected "$out" && [ ! -s "$left" ] && continue
        { echo "round $i: exit $code" && cat "$err" "$left" && cmp expected "$out"; } | note
        return 1
    done
}

shared "wordcount" wordcount words lines
shared "sort" sort words bytes
shared "grep, without a reduce" grep '[0-9a-f]{3}b' words bytes
shared "a job of several stages" ./stages words
shared "three stages" --lines-per-task 5000 ./three_stages words
check "sort with workers that are killed" killed sort words bytes
check "several stages with workers that are killed" killed ./stages words
is_sanitized && finish # the rest takes the same ways, and minutes there

shared "sort by keys" sort -k2,2n -k1,1r -u words
shared "grep -c" grep -c -H a words lines bytes
shared "index" index words lines
shared "the largest counts" --top 100 wordcount words
shared "values in input order" --reducers 3 ./order words
shared "PageRank" --lines-per-task 2 "$root/examples/pagerank.c" "$root/examples/data/links.txt"
shared "compressed input" count lines.gz
shared "csv" --format csv --map 'cut -d, -f2' table.csv
shared "commands" --map 'tr " " "\n"' --reduce 'uniq -c' words
streams() { weft streaming --quiet -input words -input lines -mapper "tr ' ' '\\n'" -reducer 'uniq -c' -numReduceTasks 3 "$@"; }
streams -output streamed && streams --workers 3 --slots 1 -output streamed_by_3
check "Hadoop Streaming: 3 workers" diff -r -x _manifest.json streamed streamed_by_3
shared "little memory" --memory 64M sort words bytes
shared "compressed output" --compress gzip wordcount words
shared "records for other programs" --output-format jsonl wordcount words
shared "bad records that are left out" --skip-bad 10 --lines-per-task 300 ./mines mined
check "as many as there are" is "$(wc -l <_weft-bad-records.jsonl)" 3
shared "a bad record that ends the job" --lines-per-task 300 ./mines mined
shared "counters of all workers" --lines-per-task 300 --shell --map 'cat; echo reporter:counter:g,c,1 >&2' numbers
shared "an empty input" wordcount /dev/null
answer wordcount words >expected
gives "standard input" expected answer --workers 3 --slots 1 wordcount - <words

answer wordcount words --reducers 5 -o one/ && answer --workers 3 --slots 1 wordcount words --reducers 5 -o many/
check "a directory of parts has the same files" diff -r one many
answer --workers 3 --slots 1 wordcount words -o file && answer wordcount words >expected
same "a file" expected file
: >both && answer wordcount words >>both && answer --workers 2 wordcount words >>both 2>&1
cat expected expected >twice
same "standard output is appended to" twice both

# ---- a full disk ------------------------------------------------------------------------------------------

mkdir disk
if ldd "$WEFT" >/dev/null 2>&1; then
    for output in disk/new disk/parts/; do
        fails_with "the disk of $output is full" 5 'no room (for the output )?in disk' \
            corral -l "$left" -- env LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/disk" \
            WEFT_NOSPACE_BYTES=100000 "$WEFT" run -q --workers 3 --slots 1 sort words -o $output
        check "and there is no answer" test ! -e "${output%/}"
    done
else
    skip "a full disk" "the command takes no preloaded library"
fi

# ---- how it is asked for --------------------------------------------------------------------------------

fails_with "no workers at all" 2 'workers 0 makes no sense' weft run --workers 0 wordcount words
fails_with "too little memory says how much is needed" 5 'memory is too small for 4 workers' \
    weft run --workers 6 --memory 32M wordcount words
try weft run --workers 3 --slots 1 --json -o "$dir/x" wordcount words
check "slots are those of all workers" is "$(jsonlines -g slots <"$err" | tail -n 1)" 3
try weft run --workers 9 --json wordcount numbers
check "workers that have nothing to do are not started" is "$(jsonlines -g slots <"$err" | tail -n 1)" 1

# ---- kill -9 ----------------------------------------------------------------------------------------------

check "wordcount with workers that are killed" killed wordcount words lines
check "commands with workers that are killed" killed --map 'tr " " "\n"' --reduce 'uniq -c' words
check "slow maps with workers that are killed" killed --lines-per-task 100 ./slow -u 100 numbers

# The driver is killed: its workers end, and the files that they share have no names.
for ((i = 0; i < rounds / 3 + 1; i++)); do
    corral -s 9 -a $((RANDOM % 200 + 20)) -e 4000 -l "$left" -- \
        "$WEFT" run -q --workers 3 --slots 1 --lines-per-task 100 ./slow -u 200 numbers >/dev/null 2>&1
done
check "a driver that is killed leaves no process" test ! -s "$left"
check "and no file" is "$(ls -A "$TMPDIR")" ""

# ---- going on after a kill ----------------------------------------------------------------------------------

export WEFT_CHECKPOINT_MS=10
slowly=(--lines-per-task 100 ./slow numbers)
answer "${slowly[@]}" -o expected.d/
export SLOW_US=300
kill_when "has_done .out.weft-unfinished" "$WEFT" run -q --workers 3 --slots 1 "${slowly[@]}" -o out/
try weft run --json --workers 2 --slots 1 "${slowly[@]}" -o out/
check "the same command goes on, with another number of workers" is "$code" 0
check_not "and does not begin again" is "$(jsonlines -g resumed_tasks <"$err" | tail -n 1)" 0
check "with the same bytes" diff -r out expected.d

finish
