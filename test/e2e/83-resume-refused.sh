#!/bin/bash
# Whose work an unfinished or a finished DIR/ is: the same job goes on or is done, anything else is refused,
# naming what differs, and takes nothing away.
# takes long
. "$(dirname "$0")/lib.sh"

export WEFT_CHECKPOINT_MS=10
compile slow && compile mines || exit 1
seq -f '%01024g' 6000 >lines # 6 MB: 6 tasks
mkdir spill
unfinished=.out.weft-unfinished

# halfway WORD...: kill -9 once some of its work is safe.
halfway() {
    kill_when "has_done $unfinished" "$WEFT" "$@"
    find "$dir/tmp" -mindepth 1 -delete
}
halfway run -q ./slow -u 200 lines -o out/
cp -a "$unfinished" kept
again() { rm -rf out "$unfinished" && cp -a kept "$unfinished"; }

# ---- not the same -----------------------------------------------------------------------------------------

refused() { # SENTENCE PATTERN WORD...
    local sentence=$1 pattern=$2
    shift 2
    fails_with "$sentence is refused" 5 "$pattern" weft run -q "$@" -o out/
    says "with a way out" 'try: --force'
    check "and nothing is lost" diff -r -x journal-lock kept "$unfinished"
}
refused "another job" 'another job' sort lines
for words in "--reducers 3" "--format csv" "--format fixed:64" "--delimiter ;" "-0" "--compress gzip" "--output-format csv" "--top 3"; do
    read -ra list <<<"$words"
    refused "the same with $words" 'other options' "${list[@]}" ./slow -u 200 lines
done
refused "with another option of the job" 'other options' ./slow -u 201 lines
cp -p lines other
refused "another name of the input" 'made from lines where other is given' ./slow -u 200 other
refused "one more input" '1 files?, and 2 are given' ./slow -u 200 lines other
refused "the same in another order" 'made from lines where other is given' ./slow -u 200 other lines
touch -d '2020-02-02' lines
refused "an input with another time" 'lines has changed' ./slow -u 200 lines
touch -r other lines
echo more >>lines && touch -r other lines
refused "an input with another size" 'lines has changed' ./slow -u 200 lines
cp -p other lines
mv slow slow.kept && sed 's/useconds_t)atoi/useconds_t)1+atoi/' "$e2e/jobs/slow.c" >slow.c
library=$(dirname "$WEFT")
"${CC:-cc}" -O1 -g -I"$root/include" slow.c -o slow -L"$library" -lweft -Wl,-rpath,"$library"
refused "another program of the same name" 'other options or code' ./slow -u 200 lines
mv slow.kept slow

try weft run -q --force sort lines -o out/
check "--force throws it away" eval '[ "$code" = 0 ] && [ ! -e "$unfinished" ] && [ -f out/_SUCCESS ]'
again
try weft run --json --force ./slow -u 1 lines -o out/
check "--force begins anew" [ "$(jsonlines -g resumed_tasks <"$err")" = 0 ]
again
try weft run --json --force ./slow -u 200 lines -o out/
check "also when it is the same job" eval '[ "$code" = 0 ] && [ "$(jsonlines -g resumed_tasks <"$err")" = 0 ]'

# ---- the same ---------------------------------------------------------------------------------------------

goes_on() { # SENTENCE WORD...
    local sentence=$1
    shift
    again
    try weft run --json "$@" -o out/
    check "$sentence it is the same job" eval '[ "$code" = 0 ] && [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]'
    [ -d expected ] || cp -a out expected
    check "and gives the same bytes" diff -r expected out
}
goes_on "as it is" ./slow -u 200 lines
goes_on "with --slots 1 --memory 40M" --slots 1 --memory 40M ./slow -u 200 lines
goes_on "with other limits and another --tmp" --tmp spill --max-attempts 7 --timeout 1h --task-timeout 1h --record-timeout 1h ./slow -u 200 lines
goes_on "with --skip-bad" --skip-bad 3 --bad-records elsewhere ./slow -u 200 lines
again
mkdir sub && cd sub || exit 1
fails_with "by another path it is not, as names count" 5 'made from lines where ../lines' \
    weft run -q ../slow -u 200 ../lines -o ../out/
cd .. || exit 1
touch -d '2020-02-02' slow
goes_on "with a program that was built again" ./slow -u 200 lines

# ---- commands and sources -----------------------------------------------------------------------------------

printf 'cat\nsleep 0.2\n' >script.sh
rm -rf out && halfway run -q --slots 2 --map 'sh script.sh' lines -o out/
check "a command was killed halfway" [ -d "$unfinished" ]
cp script.sh script.kept && printf 'cat\nsleep 0.1\n' >script.sh
fails_with "with another script it is another job" 5 'other options or code' weft run -q --map 'sh script.sh' lines -o out/
cp script.kept script.sh
try weft run --json --map 'sh script.sh' lines -o out/
check "with the old one it goes on" eval '[ "$code" = 0 ] && [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]'
check "with the right answer" eval 'cat out/part-* | cmp - lines'
mkdir elsewhere && printf 'cat\nsleep ${PAUSE:-0}\n' >elsewhere/shipped.sh
streaming=("$WEFT" streaming -D mapreduce.job.reduces=0 -D fs.local.block.size=1048576 # 6 tasks
    -files elsewhere/shipped.sh -mapper 'sh shipped.sh' -input lines -output out --json)
rm -rf out && kill_when "has_done $unfinished" env PAUSE=0.4 "${streaming[@]}" 2>"$err"
check "weft streaming was killed halfway" [ -d "$unfinished" ]
sleep 0.2 && find "$dir/tmp" -mindepth 1 -delete
try "${streaming[@]}"
check "and goes on, though its files are shipped to another place" eval '[ "$code" = 0 ] && [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]'
mv out out.kept
check "with the right answer" eval '"${streaming[@]}" 2>"$err" && diff -r out out.kept'
mkdir bin && printf '#!/bin/sh\ncat\nsleep 0.2\n' >bin/slowly && chmod +x bin/slowly
PATH=$PWD/bin:$PATH
rm -rf out && halfway run -q --map slowly lines -o out/
printf '#!/bin/sh\ncat\nsleep 0.1 \n' >bin/slowly
fails_with "a program in PATH that has changed is another job" 5 'other options or code' weft run -q --map slowly lines -o out/
rm -rf "$unfinished"
cp "$e2e/jobs/slow.c" source.c
check "a C source is built" eval 'answer source.c script.sh >actual'
halfway run -q source.c -u 200 lines -o out/
check "a C source was killed halfway" [ -d "$unfinished" ]
sed -i 's/weft_emit_int(task, line, 1)/weft_emit_int(task, line, 2)/' source.c
fails_with "a source that was changed is another job" 5 'other options or code' weft run -q source.c -u 200 lines -o out/
rm -rf "$unfinished" out

# ---- a finished one -----------------------------------------------------------------------------------------

check "a job is run" answer wordcount other -o out/
cp -a out done.kept
try weft run wordcount other -o out/
check "again: exit 0" [ "$code" = 0 ]
says "with a word" 'out/ exists already, complete'
check "nothing was done to it" diff -r out done.kept
fails_with "with another option it is refused" 5 'out/ exists already' weft run -q wordcount -i other -o out/
says "with the reason" 'other options'
fails_with "another input as well, by its name" 5 'other where lines' weft run -q wordcount lines -o out/
printf x | dd of=out/part-00000 bs=1 seek=5 conv=notrunc 2>/dev/null
fails_with "one that was changed is refused" 5 'part-00000 has' weft run -q wordcount other -o out/
check "and stays as it is" [ "$(head -c 6 out/part-00000 | tail -c 1)" = x ]
rm out/part-00000
fails_with "one that lacks a part likewise" 5 'part-00000' weft run -q wordcount other -o out/
try weft run -q --force wordcount other -o out/
check "--force makes it anew" diff -r out done.kept
rm -rf out
check "from standard input" eval 'answer wordcount - -o out/ <other'
fails_with "nothing is taken for the same" 5 'out/ exists already' weft run -q wordcount - -o out/ <other
rm -rf out && mkdir out && echo precious >out/file
fails_with "a directory of other things is refused" 5 'not a finished output' weft run -q wordcount other -o out/
fails_with "with --force too" 5 'other files' weft run -q --force wordcount other -o out/
check "and keeps them" grep -q precious out/file
rm -rf out
(corral -s 9 -a 650 -e 4000 -l "$left" -- "$WEFT" run -q ./slow -u 200 - -o out/ <lines) 2>/dev/null
: >"$left"
find "$dir/tmp" -mindepth 1 -delete
check "of standard input nothing is kept for later" [ ! -e "$unfinished" ]
rm -rf .out.weft-*

# ---- bad records ----------------------------------------------------------------------------------------------

{ echo "boom fail" && cat lines && echo "boom segv"; } >pit
fails_with "a bad record ends the job" 1 'boom' weft run -q --max-attempts 1 ./mines -u 300 pit -o bad/
fails_with "and again under too small a limit" 1 'one more than --skip-bad allows|more than 1 bad record' \
    weft run -q --max-attempts 1 --skip-bad 1 ./mines -u 300 pit -o bad/
fails_with "also when the same command is run again" 1 'one more than --skip-bad allows|more than 1 bad record' \
    weft run -q --max-attempts 1 --skip-bad 1 ./mines -u 300 pit -o bad/
fails_with "without --skip-bad what is left out is missed" '1|5' 'left out of it|boom' weft run -q ./mines -u 300 pit -o bad/
try weft run --json --skip-bad 2 ./mines -u 300 pit -o bad/
check "with a larger one it goes on" eval '[ "$code" = 0 ] && [ "$(jsonlines -g resumed_tasks <"$err")" -gt 0 ]'
check "and both are listed, also the one of the first run" [ "$(grep -c boom _weft-bad-records.jsonl)" = 2 ]
check "and counted" [ "$(jsonlines -g bad_records <"$err")" = 2 ]
sed 's/$/\t1/' lines | sort >expected.bad
cat bad/part-* >actual
same "and nothing else is missing" expected.bad actual
try weft run -q --skip-bad 2 ./mines -u 300 pit -o bad/
check "it is done" [ "$code" = 0 ]
fails_with "but not for those who want all records" 5 'other options' weft run -q ./mines -u 300 pit -o bad/

# ---- two at once ----------------------------------------------------------------------------------------------

rm -rf out "$unfinished"
weft run -q ./slow -u 200 lines -o out/ 2>"$dir/first" &
first=$!
until [ -e "$unfinished" ] || ! kill -0 $first 2>/dev/null; do sleep 0.02; done
weft run -q ./slow -u 200 lines -o out/ 2>"$err"
second_code=$?
wait $first
first_code=$?
codes=" $first_code $second_code "
check "of two at once one has the place, and the other is told" [ "${codes/ 5 / }" = " 0 " ]
check "with the right answer" diff -r expected out
check "and nothing else is there" eval '! compgen -G ".out*"'
rm -rf out
weft run -q ./slow -u 200 lines -o out/ &
first=$!
until [ -e "$unfinished" ] || ! kill -0 $first 2>/dev/null; do sleep 0.02; done
corral -s 2 -a 300 -l "$left" -- "$WEFT" run -q ./slow -u 200 lines -o out/ 2>"$err"
wait $first
check "Ctrl-C of the second does no harm to the first" eval '[ $? = 0 ] && diff -r expected out'

finish
