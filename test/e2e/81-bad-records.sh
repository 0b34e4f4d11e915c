#!/bin/bash
# A record that makes a job fail: it is found, shown, and left out if that is wanted.
# takes long
. "$(dirname "$0")/lib.sh"

compile mines && compile mines_block && compile stuffed || exit 1
python=$(python3 -c 'import sys; print(sys.executable)') # not a wrapper that takes a second to start
RANDOM=81

listed() { grep -c . _weft-bad-records.jsonl 2>/dev/null; }
counted() { sed 's/$/\t1/' | sort; } # of lines that differ

# ---- what is said -------------------------------------------------------------------------------------

declare -A reason=([segv]='segmentation fault' [abort]='aborted' [exit]='code 7' [kill]='signal 9'
    [fail]='it said fail' [loop]='longer than --(record|task)-timeout' [loud]='segmentation fault')
declare -A limit=([mines]=--record-timeout=150ms [mines_block]=--task-timeout=300ms)
for how in segv abort exit kill fail loop loud; do
    { seq 3000 && echo "boom $how" && seq 3001 5000; } >"in.$how"
    for job in mines mines_block; do
        fails_with "$job, $how: the record is shown" '1|6' 'at offset 13893: "boom '$how'" \([0-9]+ bytes\)' \
            weft run -q --max-attempts 2 "${limit[$job]}" ./$job "in.$how"
        says "with its file" "one record of in.$how"
        says "how it failed" "${reason[$how]}"
        says "and how to see it again" 'weft replay [0-9a-f]{8}'
    done
done
says "what the job said on standard error is there" 'last word on stderr'
fails_with "--task-timeout finds an endless loop as well" 6 'at offset 13893: "boom loop"' \
    weft run -q --task-timeout 200ms --max-attempts 1 ./mines in.loop
{ seq 9 && printf 'boom fail\001\t"\\\377 %0300d\n' 7; } >odd
fails_with "a record is shown escaped and cut" 1 'at offset 18: "boom fail.x01.*\.\.\." \(315 bytes\)' \
    weft run -q ./mines odd
check "and no byte of it reaches the terminal" eval '! grep -aqP "[\x01\xff]" "$err"'
check "one line of it is short" eval '[ "$(grep -a "at offset" "$err" | wc -c)" -lt 300 ]'
fails_with "--max-attempts 1 looks for it as well" 1 'at offset 13893' weft run -q --max-attempts 1 ./mines in.segv
try weft run ./mines in.fail
says "it is told that it is looked for" 'searching for the record'

# ---- commands -----------------------------------------------------------------------------------------

cat >strict.py <<'END'
import sys
for line in sys.stdin:
    if line.startswith("boom"):
        sys.stderr.write("a first word\nno idea what to do with this\n")
        sys.exit(3)
    sys.stdout.write(line.rstrip("\n") + "\t1\n")
END
cat >strict.awk <<'END'
/^boom/ { print "cannot take this" >"/dev/stderr"; exit 3 }
{ print $0 "\t1" }
END
cat >strict.sh <<'END'
while read -r line; do
    case $line in boom*) kill -9 $$ ;; esac
    echo "$line	1"
done
END
head -n 4990 in.segv >small
for command in "$python strict.py" "awk -f strict.awk" "sh strict.sh"; do
    fails_with "--map '$command': the record is shown" 1 'at offset 13893: "boom segv"' \
        weft run -q --map "$command" small
    says "and how it ended" 'code 3|signal 9'
    case $command in
    *py) says "with the end of its standard error" '^ +no idea what to do with this' ;;
    *awk) says "with the end of its standard error" '^ +cannot take this' ;;
    esac
    grep -v boom small | counted >expected
    rm -f _weft-bad-records.jsonl
    gives "--skip-bad leaves it out" expected weft run -q --skip-bad 1 --reducers 1 --map "$command" --reduce cat small
    check "and lists it" [ "$(listed)" = 1 ]
done

# ---- leaving them out -----------------------------------------------------------------------------------

# leaves_out SENTENCE COUNT FILE WORD...: all lines of FILE that say boom, and only these.
leaves_out() {
    local sentence=$1 expected_count=$2 file=$3
    shift 3
    rm -f _weft-bad-records.jsonl
    grep -v boom "$file" | sort | uniq -c | awk '{ n = $1; sub(/^ *[0-9]+ /, ""); print $0 "\t" n }' | sort >expected
    gives "$sentence" expected weft run -q --skip-bad "$expected_count" "$@" "$file"
    grep -b boom "$file" | sed 's/:.*//' >"$dir/offsets"
    sed 's/.*"offset":\([0-9]*\).*/\1/' _weft-bad-records.jsonl >"$dir/actual"
    same "and lists their offsets in order" "$dir/offsets" "$dir/actual"
    check "their file and their bytes" eval '[ "$(grep -c "\"file\":\"$file\".*\"record\":\"boom " _weft-bad-records.jsonl)" = "$expected_count" ]'
}
for how in segv exit fail loop; do
    leaves_out "one that does $how is left out" 1 in.$how --max-attempts 2 "${limit[mines]}" ./mines
    leaves_out "of blocks too" 1 in.$how --max-attempts 2 "${limit[mines_block]}" ./mines_block
done
{ echo "boom segv" && seq 2000 && echo "boom fail" && echo "boom exit" && seq 2001 3000 && echo "boom abort"; } >several
leaves_out "several of one task, the first and the last record too" 4 several ./mines
leaves_out "of blocks too" 4 several ./mines_block
{ seq 5 && printf 'boom segv'; } >unended
leaves_out "the last one without a line end" 1 unended ./mines
# Several tasks, and among them what is sampled; the lines are long, for more tasks with fewer of them.
awk -v seed=$RANDOM 'BEGIN { srand(seed); for (i = 0; i < 40000; i++) {
    if (i == 0 || i == 39999 || i % 4001 == 7) print (i % 2 ? "boom segv" : "boom fail"); else printf "%0100d\n", i } }' >many
bad_count=$(grep -c boom many)
leaves_out "many of several tasks and of the sample ($bad_count)" "$bad_count" many --reducers 4 ./mines
leaves_out "of blocks too" "$bad_count" many --reducers 4 --slots 1 ./mines_block
try weft run --skip-bad 4 ./mines several
says "the summary counts them" '4 bad records'
try weft run --json --skip-bad 4 ./mines several
check "--json too" [ "$(jsonlines -g bad_records <"$err")" = 4 ]
rm -f _weft-bad-records.jsonl
fails_with "one more than the limit fails" 1 'record' weft run -q --skip-bad 3 ./mines several
awk '{ print } NR % 100 == 0 { print "boom fail" }' in.fail | grep -v 'boom segv' >percent # 51 of 5051
fails_with "more than the share fails" 1 'more than 0.9%' weft run -q --skip-bad 0.9% ./mines percent
grep -v boom percent | counted >expected
gives "less than the share does not" expected weft run -q --skip-bad 1.1% ./mines percent
check "all are listed" [ "$(listed)" = 51 ]
rm -f _weft-bad-records.jsonl
try weft run -q --skip-bad 1 --bad-records elsewhere.jsonl ./mines in.segv
check "--bad-records names another file" eval '[ "$(grep -c . elsewhere.jsonl)" = 1 ] && [ ! -e _weft-bad-records.jsonl ]'
check "a line of it is JSON" jsonlines <elsewhere.jsonl
seq 100 >good
echo precious >letter
fails_with "a file that is no list is not replaced" 5 'letter exists' weft run -q --skip-bad 1 --bad-records letter ./mines in.segv
check "and stays as it was" [ "$(cat letter)" = precious ]
try weft run -q --skip-bad 1 --bad-records letter --force ./mines in.segv
check "with --force it is" [ "$(grep -c . letter)" = 1 ]
try weft run -q --skip-bad 1 --bad-records elsewhere.jsonl ./mines in.segv
check "a list of an earlier run is replaced" [ "$code:$(grep -c . elsewhere.jsonl)" = 0:1 ]
try weft run -q --skip-bad 1 --bad-records elsewhere.jsonl ./mines good
check "and is gone when there are no bad records" eval '[ $code = 0 ] && [ ! -e elsewhere.jsonl ]'
try weft run -q --skip-bad 1 --bad-records nowhere/list ./mines in.segv
check "a list that cannot be written is an error" eval '[ $code != 0 ] && grep -q "list of bad records" "$err"'
try weft run -q --skip-bad 1 --bad-records good.jsonl ./mines good
check "no bad record, no list" eval '[ "$code" = 0 ] && [ ! -e good.jsonl ]'
for word in 0 -1 x 101% 0% 5%x; do
    fails_with "--skip-bad $word is refused" 2 'skip-bad' weft run -q --skip-bad=$word ./mines good
done
fails_with "a record that fails only together with others is not blamed" 1 'not yet|moon|fail|together' \
    weft run -q --skip-bad 5 --map "awk 'NR == 50 { exit 3 }'" good

# ---- other inputs ---------------------------------------------------------------------------------------

gzip -k several many
grep -v boom several | counted >expected
gives "in a compressed file they are found too" expected weft run -q --skip-bad 4 ./mines several.gz
check "at the offset in its plain text" grep -q '"offset":8903,' _weft-bad-records.jsonl
fails_with "and shown with it" 1 'record of several.gz' weft run -q ./mines several.gz
gives "of blocks too" expected weft run -q --skip-bad 4 ./mines_block several.gz
grep -v boom many | counted >expected
gives "in a large compressed file too" expected weft run -q --skip-bad "$bad_count" ./mines many.gz
{
    for i in $(seq 500); do printf '%d,"two\nlines, %d",x\n' "$i" "$i"; done
    printf 'boom fail,"two\nboom lines",x\n'
    for i in $(seq 501 600); do printf '%d,"two\nlines, %d",x\n' "$i" "$i"; done
} >rows.csv
fails_with "a csv row with a line break in quotes is shown as a whole" 1 'at offset 11284: "boom fail,.*two.nboom lines.*,x"' \
    weft run -q --format csv ./mines rows.csv
try weft run -q --skip-bad 1 --format csv ./mines rows.csv
check "and left out as a whole" eval '[ "$code" = 0 ] && ! grep -q boom "$out" && [ "$(grep -c "^lines, 600" "$out")" = 1 ]'
seq 3 | weft run -q --output-format tfrecord --map cat - >records && flip=$(printf '\377')
printf %s "$flip" | dd of=records bs=1 seek=30 conv=notrunc status=none
fails_with "a tfrecord with a wrong checksum fails" 1 'record at offset 17: the checksum' weft run -q --format tfrecord ./mines records
printf '1\t1\n3\t1\n' >expected
gives "and can be left out" expected weft run -q --format tfrecord --skip-bad 1 ./mines records
check "and is listed" grep -q '"offset":17,.*checksum' _weft-bad-records.jsonl
mkdir folder && cp in.segv folder/a && cp good folder/b && cp in.fail folder/c
try weft run -q --skip-bad 2 ./mines folder
check "of several files" eval '[ "$code" = 0 ] && ! grep -q boom "$out"'
check "each is named" eval 'grep -q "folder/a.*segmentation" _weft-bad-records.jsonl && grep -q "folder/c.*it said" _weft-bad-records.jsonl'

# A command that was started for a file of which nothing is left is not used for the next one.
mkdir files && echo BAD >files/a && echo good >files/b && echo fine >files/c
printf '#!/bin/sh\ntext=$(cat)\ncase $text in *BAD*) exit 3 ;; esac\necho "$mapreduce_map_input_file: $text"\n' >named
chmod +x named
printf 'files/b: good\nfiles/c: fine\n' >expected
gives "a command is told of the file it gets" expected weft run -q --skip-bad 1 --map ./named files

fails_with "of standard input as well" 1 'at offset 13893: "boom segv"' weft run -q ./mines - <in.segv
check_not "which cannot be replayed" grep -q 'weft replay' "$err"

# Stopped while it looks for the record, by the user or by kill -9: the tries go too.
for signal in 2 9; do
    corral -s $signal -a 700 -e 4000 -l "$left" -- "$WEFT" run -q --task-timeout 300ms --max-attempts 1 ./mines_block in.loop 2>"$err"
    check "signal $signal ends the search" [ $? = $((128 + signal)) ]
done
check "and nobody stays behind" [ ! -s "$left" ]

# ---- memory -----------------------------------------------------------------------------------------------

seq 3000 >plenty
if is_sanitized; then
    skip "leaks are stopped" "a sanitizer's memory is not the job's"
    finish
fi
fails_with "a mapper that leaks is stopped at its budget" '1|5' 'memory' weft run -q --memory 64M ./stuffed -m plenty
says "and told how much it was" '--memory|leak|budget|[0-9] ?[MG]B'
fails_with "a reducer likewise" '1|5' 'memory' weft run -q --memory 64M ./stuffed -r plenty

finish
