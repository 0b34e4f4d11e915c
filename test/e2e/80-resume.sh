#!/bin/bash
# -o DIR/ after kill -9: the same command goes on with what was done, and ends with the same bytes,
# whatever was killed (the driver, its worker, both) and whenever.
# takes long
. "$(dirname "$0")/lib.sh"

export WEFT_CHECKPOINT_MS=10
rounds=15 points=16
is_long && rounds=200 points=1000
RANDOM=80

generate words 8000000 801 >words
generate lines 240000 802 >distinct # 8 MB
cp distinct more
compile order && compile stages && compile slow || exit 1
seq 1 4000 >numbers

# ---- any moment -------------------------------------------------------------------------------------

# expect NAME WORD...: what `weft run WORD... -o DIR/` gives when nobody disturbs it, and how long it takes.
declare -A span
expect() {
    local name=$1 begun=${EPOCHREALTIME/./}
    shift
    check "$name: undisturbed" answer "$@" --output "$name.expected/"
    span[$name]=$(((${EPOCHREALTIME/./} - begun) / 1100))
}

# Runs it, killing WHO at a random moment: the driver, the worker, both, or (late) the driver once some of its
# work is safe.
run_killed() {
    local who=$1 name=$2 ms=$((RANDOM % span[$2] + 1)) later=$((RANDOM % 30))
    shift 2
    case $who in
    driver) corral -s 9 -a $ms -e 4000 -l "$left" -- "$WEFT" run --json "$@" ;;
    worker) corral -w $ms -e 4000 -l "$left" -- "$WEFT" run --json "$@" ;;
    late) kill_when "has_done .$name.weft-unfinished && sleep 0.0$((10 + later))" "$WEFT" run --json "$@" ;;
    both) corral -w $ms -s 9 -a $((ms + later)) -e 4000 -l "$left" -- "$WEFT" run --json "$@" ;;
    esac 2>"$err"
}

# What differs between two outputs, hidden files included.
differs() { diff -r "$1" "$2" >"$dir/diff" 2>&1 && return 1; cat "$dir/diff"; }

# Kills and goes on until it is done; at most KILLS times, then it is left in peace.
resumed=0 interrupted=0
finish_killed() {
    local name=$1 kills=$2 who
    shift 2
    for ((; kills > 0; kills--)); do
        case $((RANDOM % 6)) in 0) who=worker ;; 1) who=both ;; 2 | 3) who=late ;; *) who=driver ;; esac
        run_killed $who "$name" "$@" --output "$name/"
        code=$?
        [ $code = 137 ] || break
        interrupted=$((interrupted + 1))
        # Slots and memory are not part of what a job is.
        [ $((RANDOM % 3)) = 0 ] &&
            set -- "$@" --slots $((RANDOM % 3 + 1)) --workers $((RANDOM % 3 + 1)) --memory $((RANDOM % 100 + 48))M
    done
    if [ $kills = 0 ]; then
        weft run --json "$@" --output "$name/" 2>"$err"
        code=$?
    fi
    [ "$(jsonlines -g resumed_tasks <"$err")" != 0 ] && resumed=$((resumed + 1))
    return $code
}

# One round of a job: no run may fail, and what is there in the end is what was expected, bytes and names.
round() {
    local name=$1
    shift
    rm -rf "$name" ".$name".weft-*
    if ! finish_killed "$name" $((RANDOM % 4 + 1)) "$@"; then
        echo "exit $code from $*" && cat "$err"
    elif differs "$name" "$name.expected"; then
        echo "from $*"
    elif [ -s "$left" ] || compgen -G ".$name*" >/dev/null; then
        echo "left: $(cat "$left") $(ls -dA .??*)"
    else
        return 0
    fi
    : >"$left"
    return 1
}

jobs=(sort wordcount grep order stages spill gzip slow)
declare -A words=([sort]="sort distinct more" [wordcount]="wordcount words more" [grep]="grep a words distinct"
    [order]="./order distinct more" [stages]="./stages words" [spill]="sort --memory 32M --slots 2 distinct more"
    [gzip]="sort --compress gzip words" [slow]="./slow -u 100 numbers")
for job in "${jobs[@]}"; do
    read -ra line <<<"${words[$job]}"
    expect "$job.d" "${line[@]}"
done
for job in "${jobs[@]}"; do
    read -ra line <<<"${words[$job]}"
    : >"$dir/problems"
    for ((i = 0; i < (rounds + 7) / 8; i++)); do
        round "$job.d" "${line[@]}" >>"$dir/problems" 2>&1
    done
    check_not "$job: the same bytes however often it is killed (seed 80)" cat_first "$dir/problems"
done
echo "# $interrupted runs were killed, $resumed went on with what was there"
check "some were killed" [ "$interrupted" -gt 3 ]
check "some went on with what was there" [ "$resumed" -gt 0 ]
find "$dir/tmp" -mindepth 1 -delete # a killed driver's

# ---- every gap between two steps of the driver --------------------------------------------------------

# at N COMMAND...: kill -9 before the driver's Nth change of a file.
at() {
    local n=$1
    shift
    corral -l "$left" -- env LD_PRELOAD="$E2E_TOOLS/dieat.so" WEFT_DIE_AT="$n" "$WEFT" "$@"
}

gaps() {
    local name=$1 n all step torn
    shift
    rm -rf "$name" && rm -f "$dir/count"
    WEFT_DIE_COUNT=$dir/count at 0 run -q "$@" --output "$name/" 2>"$err"
    all=$(cat "$dir/count")
    step=$(((all + points - 1) / points))
    : >"$dir/problems"
    # The last gaps are those of the commit: all of them. Counts vary a little with what ends first.
    for n in $(seq 1 $step $((all - 8))) $(seq $((all > 8 ? all - 7 : 1)) $((all + 1))); do
        for torn in "" 1; do
            rm -rf "$name"
            WEFT_DIE_TORN=$torn
            [ -n "$torn" ] && export WEFT_DIE_TORN || unset WEFT_DIE_TORN
            at "$n" run -q "$@" --output "$name/" 2>"$err"
            code=$?
            if ! answer "$@" --output "$name/" 2>"$err"; then
                echo "gap $n of $all: $(cat "$err")"
            elif differs "$name" "$name.expected"; then
                echo "gap $n of $all (exit $code)"
            elif compgen -G ".$name*" >/dev/null; then
                echo "gap $n of $all: left $(ls -dA .??*)"
            fi
            rm -rf ".$name".weft-*
        done
    done >>"$dir/problems" 2>&1
    check_not "$name: the same bytes after a kill between any two steps" cat_first "$dir/problems"
}

if is_sanitized; then
    skip "kills between two steps" "a sanitizer wants to be loaded first"
else
    head -c 3000000 words >few
    check "few: undisturbed" answer wordcount --reducers 3 few --output few.d.expected/
    gaps few.d wordcount --reducers 3 few
    check "matches: undisturbed" answer grep a few --output matches.expected/
    gaps matches grep a few
fi
find "$dir/tmp" -mindepth 1 -delete

# ---- what is seen of it -------------------------------------------------------------------------------

# A job that is killed halfway, with certainty: it sleeps at each of its 6000 lines, in 6 tasks.
halfway() { # NAME WORD...
    local name=$1
    shift
    kill_when "has_done .$name.weft-unfinished" "$WEFT" run -q "$@" --output "$name/"
    find "$dir/tmp" -mindepth 1 -delete
}
seq -f '%01024g' 6000 >lines
rm -rf out .out.weft-* && halfway out ./slow -u 200 lines
check "a killed run leaves an unfinished directory and no output" eval '[ -d .out.weft-unfinished ] && [ ! -e out ]'
try weft run --dry-run ./slow -u 200 lines -o out/
check "--dry-run tells what is done" grep -qiE 'done|kept|resum|goes on' "$out"
try weft run --dry-run --json ./slow -u 200 lines -o out/
check "--json tells it in an object" jsonlines <"$out"
check "with what is done" grep -qE '"(pieces|map_tasks)_done":[1-9]' "$out"
check "and nothing else" [ "$(wc -l <"$out")" = 1 -a ! -s "$err" ]
try weft run ./slow -u 200 lines -o out/
says "the summary tells that it went on" 'earlier|resum|went on|kept'
check "the unfinished directory is gone" eval '[ ! -e .out.weft-unfinished ] && [ -f out/_SUCCESS ]'
try weft run ./slow -u 200 lines -o out/
check "the same command again exits with 0" [ "$code" = 0 ]
says "and says that the answer is there" 'already'
try weft run --json ./slow -u 200 lines -o out/
check "--json says so too" [ "$(jsonlines -g already_done <"$err")" = true ]
check "and nothing was read" [ "$(jsonlines -g records_in <"$err")" = 0 ]

# ---- a failure keeps the work, Ctrl-C does not --------------------------------------------------------

rm -rf once.d && generate lines 400000 805 >bulk # 13 MB: 13 tasks, the last fails
cp bulk pit && echo boom >>pit
compile once || exit 1
: >state
# Counting bytes of the state file from 1000 on: it fails until the file is that long.
fails_with "a job that fails after part of its work fails" 1 'not yet' \
    weft run --slots 1 --max-attempts 1 ./once -s state -t 1000 pit -o once.d/
says "and says that what is done is kept" 'is kept|continues it'
check "it is kept" [ -d .once.d.weft-unfinished ]
head -c 2000 /dev/zero >state
try weft run --json ./once -s state -t 1000 pit -o once.d/
check "with the cause removed it ends" [ "$code" = 0 ]
all=$(jsonlines -g map_tasks <"$err")
check "what was done was not done again" [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]
check "less was read than there is" [ "$(jsonlines -g records_in <"$err")" -lt 400001 ]
check "of several tasks" [ "$all" -gt 4 ]
oracle lines pit >expected 2>/dev/null || sort pit | uniq -c | awk '{c=$1; sub(/^ *[0-9]+ /, ""); print $0 "\t" c}' | sort >expected
cat once.d/part-* >actual
same "with the right answer" expected actual

# The very end: all is done, and only making it visible goes wrong.
seq 1000 >short
last_step() { # SENTENCE OBSTACLE REMOVAL WORD...: the commands make the obstacle, and note that they ran
    local sentence=$1 obstacle=$2 removal=$3 ran
    shift 3
    rm -rf out .out.weft-* ran
    local mapper="cat; echo >>ran; echo reporter:counter:my,maps,3 >&2; $obstacle"
    fails_with "$sentence" '1|2|5' 'out' weft run --shell --map "$mapper" "$@" short -o out/
    says "and says that what is done is kept" 'is kept'
    check "it is kept" [ -d .out.weft-unfinished ]
    ran=$(wc -l <ran)
    eval "$removal"
    try weft run --json --shell --map "$mapper" "$@" short -o out/
    check "the same command ends it" [ "$code" = 0 ]
    check "with the counters of all of it" grep -q '"counters":{"my.maps":3}' "$err"
    check "without doing anything again" [ "$(wc -l <ran)" = "$ran" ]
    cat out/part-* | sort -n >actual
    same "with the right answer" short actual
    check "and nothing left behind" eval '! compgen -G ".out*" && ! compgen -G "out/.*"'
    check "which is whole" weft verify out
}
last_step "an output that appears meanwhile fails the run" 'mkdir -p out' 'rmdir out'
last_step "the same behind a reducer" 'mkdir -p out' 'rmdir out' --reduce cat --reducers 2
manifest=.out.weft-unfinished/_manifest.json
last_step "so does a manifest that cannot be written" "mkdir -p $manifest" "rmdir $manifest"
# Counters are those of the whole job, whichever run a task was done by, and however often.
cat >count.sh <<'END'
cat
echo "reporter:counter:my,maps,1" >&2
echo "reporter:counter:my,$mapreduce_task_partition,$mapreduce_task_partition" >&2
[ -e ready ] || [ "$mapreduce_task_partition" -lt 3 ]
END
counted() { # SENTENCE WORD...
    local sentence=$1
    shift
    rm -rf out .out.weft-* ready
    : >ready
    try weft run --json "$@" --lines-per-task 100 --map 'sh count.sh' short
    grep -o '"counters":{.*}' "$err" >expected
    rm ready
    fails_with "$sentence" 1 'kept' weft run --slots 1 --max-attempts 1 "$@" --lines-per-task 100 --map 'sh count.sh' short -o out/
    : >ready
    try weft run --json "$@" --lines-per-task 100 --map 'sh count.sh' short -o out/
    check "what was done is not done again" [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]
    grep -o '"counters":{.*}' "$err" >actual
    same "but counted" expected actual
    check "all of it" grep -q '"my.maps":10' actual
}
counted "a map-only job that counts"
WEFT_CHECKPOINT_MS=1 counted "one with a reducer, of checkpoints" \
    --shell --reduce 'cat; echo reporter:counter:my,reduces,1 >&2'

# A later stage reads what only its worker has: it is asked for no checkpoint, however long it takes.
compile slow_stages || exit 1
seq 400 >few
rm -rf out .out.weft-*
WEFT_CHECKPOINT_MS=20 try weft run --slots 2 --reducers 8 ./slow_stages few -o out/
check "a second stage may take longer than the time between checkpoints" [ "$code" = 0 ]
cut -f 1 out/part-* | sort -n >actual
same "and does its work" few actual

# Bad records, too: an answer without them must not be taken for a whole one, whoever made which part.
compile mines || exit 1
{ seq 3000 && echo 'boom fail' && seq 3001 5000; } >holes
rm -rf out .out.weft-* && mkdir -p $manifest
fails_with "a job that leaves a record out fails at its end" '1|2' 'manifest' weft run --skip-bad 1 ./mines holes -o out/
rmdir $manifest && mv _weft-bad-records.jsonl expected
try weft run --json --skip-bad 1 ./mines holes -o out/
check "the same command ends it" [ "$code" = 0 ]
check "tells of the record" [ "$(jsonlines -g bad_records <"$err")" = 1 ]
same "lists it" expected _weft-bad-records.jsonl
fails_with "and is no answer for who does not allow it" 5 'out' weft run ./mines holes -o out/

rm -rf out .out.weft-*
# Six tasks, one after the other; a checkpoint waits for the task at hand, so two are safe after two and the time
# of three is enough. On a busy machine it is not: then again, with more of both.
while read -r limit pause; do
    try weft run --slots 1 --timeout "$limit" ./slow -u "$pause" lines -o out/
    [ -d .out.weft-unfinished ] && break
done <<<'1s 200
4s 1000
16s 4000
64s 16000'
check "a run beyond --timeout ends" [ "$code" = 6 ]
check "and says so" grep -q 'timed out' "$err"
check "what it did is kept" [ -d .out.weft-unfinished ]
for signal in 2 15; do
    rm -rf out .out.weft-*
    corral -s $signal -a 400 -l "$left" -- "$WEFT" run -q ./slow -u 200 lines -o out/ 2>"$err"
    check "signal $signal ends a run" [ $? = $((128 + signal)) ]
    check "and removes all it has made" eval '[ ! -e out ] && ! compgen -G ".out*"'
done
halfway out ./slow -u 200 lines
check "a killed run is there" [ -d .out.weft-unfinished ]
corral -s 2 -a 400 -l "$left" -- "$WEFT" run -q ./slow -u 200 lines -o out/ 2>"$err"
check "Ctrl-C of the run that goes on removes its work too" eval '[ ! -e out ] && ! compgen -G ".out*"'

finish
