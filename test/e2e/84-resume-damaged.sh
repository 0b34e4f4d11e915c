#!/bin/bash
# An unfinished directory after a power cut: whatever is cut, flipped or missing in it, the same command gives
# the right answer or refuses with a reason. Never other bytes.
. "$(dirname "$0")/lib.sh"

export WEFT_CHECKPOINT_MS=10
tries=5
is_long && tries=60
RANDOM=84
compile slow || exit 1
unfinished=.out.weft-unfinished

# Two templates: one stopped while it maps (files of runs), one while it reduces or maps to the end (parts).
seq -f '%01024g' 6000 >lines
check "a job with a reducer, undisturbed" answer ./slow lines -o runs.expected/
rm -rf $unfinished out
kill_when 'has_done $unfinished map-0-.-0' env SLOW_US=300 "$WEFT" run -q ./slow lines -o out/
cp -a $unfinished runs
printf 'cat\nsleep ${PAUSE:-0}\n' >script.sh
rm -rf $unfinished out
kill_when 'has_done $unfinished' \
    env PAUSE=0.4 "$WEFT" run -q --reducers 2 --map 'sh script.sh' lines -o out/
cp -a $unfinished parts
: >"$left"
find "$dir/tmp" -mindepth 1 -delete
check "there are runs to damage" eval 'find runs/.weft-runs -type f | grep -q .'
check "there are parts to damage" eval 'find parts -name "part-*" -size +1k | grep -q .'

run_again() { # KIND [WORD...]
    local kind=$1
    shift
    if [ "$kind" = runs ]; then
        weft run --json "$@" ./slow lines -o out/
    else
        weft run --json "$@" --reducers 2 --map 'sh script.sh' lines -o out/
    fi
}
is_right() {
    if [ "$1" = runs ]; then
        cat out/part-* | cmp - <(cat runs.expected/part-*)
    else
        cat out/part-* | cmp - lines
    fi
}

# survives SENTENCE KIND: what DAMAGE (a function) does to $unfinished is noticed.
outcomes=
survives() {
    local sentence=$1 kind=$2
    rm -rf out $unfinished && cp -a "$kind" $unfinished
    (cd $unfinished && damage) >"$dir/damage" 2>&1
    run_again "$kind" >"$out" 2>"$err"
    code=$?
    # Refused: with a reason, and --force is a way out.
    if [ $code = 5 ] && jsonlines -g error <"$err" | grep -q -- 'try: --force'; then
        outcomes=$outcomes.
        run_again "$kind" --force >"$out" 2>"$err"
        code=$?
    fi
    if [ $code = 0 ] && is_right "$kind" >"$dir/cmp" 2>&1 && [ ! -e $unfinished ] && weft verify out >"$dir/verify" 2>&1 &&
        ! find out -name '.weft*' | grep -q .; then
        outcomes=${outcomes}o
        return 0
    fi
    { echo "$sentence ($kind), exit $code" && cat "$dir/damage" "$dir/cmp" "$dir/verify" "$err"; } | tail -n 6 >>"$dir/problems"
    return 1
}
report() {
    check_not "$1" cat_first "$dir/problems"
    : >"$dir/problems"
}
: >"$dir/problems"
size_of() { stat -c %s "$1"; }
any() { find . -path "$1" -type f -size +0 | sort | shuf -n 1 --random-source=<(yes $RANDOM); }
flip() { # FILE OFFSET: another byte there
    local byte
    byte=$(od -An -tu1 -j "$2" -N1 "$1")
    # shellcheck disable=SC2059
    printf "\\$(printf %o $((byte ^ (1 << RANDOM % 8))))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
    echo "flipped byte $2 of $1"
}
somewhere() { echo $(((RANDOM * 32768 + RANDOM) % $(size_of "$1"))); }

damage() { :; }
survives "untouched" runs
check "untouched runs are used" [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]
survives "untouched" parts
check "untouched parts are used" [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]
report "with no damage all is well"

for kind in runs parts; do
    journal=.weft-journal/journal-000001
    size=$(size_of "$kind/$journal")
    for cut in 0 1 20 100 $((size / 2)) $((size - 1)) $((size - 10)) $((size - 40)); do
        damage() { truncate -s "$cut" $journal && echo "cut at $cut"; }
        survives "a journal that is cut" $kind
    done
    report "$kind: a journal that is cut anywhere"
    for ((i = 0; i < tries; i++)); do
        damage() { flip $journal "$(somewhere $journal)"; }
        survives "a journal with a flipped bit" $kind
    done
    for byte in 0 4 8 12 16; do
        damage() { flip $journal $byte; }
        survives "a journal with a flipped bit in its head" $kind
    done
    report "$kind: a journal with a flipped bit"
    damage() { rm -r .weft-journal; }
    survives "no journal" $kind
    damage() { rm $journal; }
    survives "no segment" $kind
    damage() { head -c 3000 /dev/urandom >$journal; }
    survives "another journal" $kind
    damage() { cat $journal $journal >j && mv j $journal; }
    survives "a doubled journal" $kind
    damage() { head -c 100 /dev/zero >>$journal; }
    survives "zeros behind the journal" $kind
    damage() { cp $journal .weft-journal/journal-000002; }
    survives "a second segment" $kind
    report "$kind: a journal that is lost or another one"
done

for ((i = 0; i < tries; i++)); do
    damage() { file=$(any './.weft-runs/*') && flip "$file" "$(somewhere "$file")"; }
    survives "a run with a flipped bit" runs
    damage() { file=$(any './.weft-runs/*') && truncate -s "$(somewhere "$file")" "$file" && ls -l "$file"; }
    survives "a run that is cut" runs
    damage() { file=$(any './.weft-runs/*') && fallocate -p -o $(($(somewhere "$file") / 4096 * 4096)) -l 4096 "$file"; }
    survives "a run with a hole" runs
done
damage() { rm "$(any './.weft-runs/*')"; }
survives "one file of runs missing" runs
damage() { rm -r .weft-runs; }
survives "all runs missing" runs
damage() { for file in .weft-runs/*; do : >"$file"; done; }
survives "empty runs" runs
report "runs that are damaged or missing"
for ((i = 0; i < tries; i++)); do
    damage() { file=$(any './part-*') && flip "$file" "$(somewhere "$file")"; }
    survives "a part with a flipped bit" parts
    damage() { file=$(any './part-*') && truncate -s "$(somewhere "$file")" "$file"; }
    survives "a part that is cut" parts
done
damage() { rm "$(any './part-*')"; }
survives "a part is missing" parts
damage() { echo tail >>"$(any './part-*')"; }
survives "a part with something behind it" parts
damage() { echo x >_manifest.json && : >_SUCCESS; }
survives "a manifest before its time" parts
report "parts that are damaged or missing"
echo "# o: right at once; .o: refused, right with --force: $outcomes"
check "most damage costs work only" [ "$(tr -dc . <<<"$outcomes" | wc -c)" -lt $((${#outcomes} / 4)) ]

# ---- newer versions, and what comes back --------------------------------------------------------------------

cat >newer.py <<'END'
import sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
path = sys.argv[1]
data = bytearray(open(path, "rb").read())
data[8] = 99
data[12:16] = crc32c(data[:12] + data[16:64]).to_bytes(4, "little")
open(path, "wb").write(data)
END
rm -rf out $unfinished && cp -a runs $unfinished
python3 newer.py $unfinished/.weft-journal/journal-000001
cp -a $unfinished newer
fails_with "a journal of a newer weft is refused" 5 'newer' weft run -q ./slow lines -o out/
says "with a way out" 'try: --force'
check "and left as it is" diff -r -x journal-lock newer $unfinished
check "--force throws it away" answer --force ./slow lines -o out/
check "and gives the right answer" is_right runs

# Runs that were found damaged and are sound again later must not count twice: their tasks were done again.
rm -rf out $unfinished
kill_when 'has_done $unfinished map-0-0-0' env SLOW_US=200 "$WEFT" run -q --slots 1 ./slow lines -o out/
first=$unfinished/.weft-runs/map-0-0-0
cp -a $first sound
flip $first 100 >/dev/null
kill_when 'has_done $unfinished map-0-0-1' env SLOW_US=200 "$WEFT" run -q --slots 1 ./slow lines -o out/
cp -a sound $first
check "there are two files of runs" [ "$(find $unfinished/.weft-runs -type f | wc -l)" = 2 ]
try run_again runs
check "runs that are sound again do not count twice" eval '[ "$code" = 0 ] && is_right runs'
find "$dir/tmp" -mindepth 1 -delete

finish
