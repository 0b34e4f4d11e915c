#!/bin/bash
# Commands as mapper, combiner and reducer: what comes out is what `cat | MAP | sort | REDUCE` gives.
# also: asan
# takes long
. "$(dirname "$0")/lib.sh"

generate words 400000 71 >text
generate words 20000 72 >"with blanks"
words="tr -cs A-Za-z '\n'"

# --- the pipeline, in one command
tr -cs A-Za-z '\n' <text | sort | uniq -c >expected
gives "map and reduce are the pipeline with sort between" expected \
    answer --map "$words" --reduce 'uniq -c' text
for slots in 1 4; do
    gives "with $slots slots" expected answer --slots $slots --map "$words" --reduce 'uniq -c' text
done
gives "with little memory" expected answer --memory 16M --map "$words" --reduce 'uniq -c' text
gives "the options may stand behind the input" expected answer text --map="$words" --reduce='uniq -c'
cp text expected.map
gives "without a reducer the output is what the mapper prints, in input order" expected.map \
    answer --map cat text
cat text "with blanks" >both
gives "also of several files, with blanks in their names" both answer --map cat text "with blanks"
sort text >expected
gives "without a mapper records are pairs, and the reducer sees them sorted" expected answer --reduce cat text
printf 'b\t2\na\t1\nb\t1\nword\n\tvalue\n' >pairs
printf '\tvalue\na\t1\nb\t2\nb\t1\nword\n' >expected
gives "values of a key stay in input order, lines without a TAB stay as they are" expected \
    answer --map cat --reduce cat pairs
printf 'one\ntwo' >open
printf 'one\ntwo\n' >expected
gives "a last line without an end gets one" expected answer --map cat open
: >empty
gives "an empty input is an empty answer" empty answer --map cat --reduce cat empty

# --- shell and words
printf '2\n' >expected
gives "--shell runs a pipe" expected answer --shell --map 'grep -c o | cat' open
fails_with "without it a pipe is told as such" 2 "only a shell" weft run --map "grep o | wc" open
printf 'a b\n' >expected
gives "words are split as by a shell, quotes and all" expected answer --map "printf '%s\n' 'a b'" open
fails_with "a command that does not exist" 4 'nosuch.*no such program' weft run --map nosuch open
: >not-executable
fails_with "a file that is not executable" 5 'chmod' weft run --map ./not-executable open
fails_with "a command without a word" 2 'map' weft run --map ' ' open

# --- what a mapper may do
yes 'a line that is rather long' | head -n 200000 >long
head -n 1 long >expected
gives "it may stop reading early" expected answer --lines-per-task 200000 --map 'head -n 1' long
printf 'x\n' >expected
gives "it may ignore its input" expected answer --map 'echo x' open
gives "it may print half a line" expected answer --map 'printf x' open
gives "it may print nothing" empty answer --map true open
printf 'x\n' >expected
gives "a flood on stderr stalls nobody" expected \
    answer --shell --map 'yes noise 2>/dev/null | head -n 100000 >&2; cat >/dev/null; echo x' open
weft run -q --shell --map 'yes noise 2>/dev/null | head -n 100000 >&2; cat' open >/dev/null 2>noise
check "and is passed on to its last line" test "$(grep -c '^noise$' noise)" = 100000
gives "it may leave a process in the background" expected \
    answer --shell --map 'sleep 300 & cat >/dev/null; echo x' open
fails_with "its failure is told with its words" 1 'exited with code 3.*' \
    weft run --shell --map 'echo the moon is full >&2; exit 3' open
says "which are its last ones" 'the moon is full'
fails_with "a signal, too" 1 'killed by signal 9|signal 15' weft run --shell --map 'kill -9 $$' open
printf 'import sys\nprint "two"\n' >two.py
fails_with "a Python 2 script shows Python's own error" 1 'SyntaxError' weft run --map 'python3 two.py' open
says "and that no record is to blame" 'without any record'

# --- counters, status, environment
try weft run --json --shell --map 'cat; echo reporter:counter:mine,lines,2 >&2; echo reporter:status:fine >&2' open
check "counters are counted" grep -q '"mine.lines":2' "$err"
check "and not passed on" eval '! grep -q ^reporter: "$err"'
check "the job is called like its mapper" grep -qF '"event":"end","job":"cat; echo reporter:' "$err"
check "a status is told" grep -qF '{"event":"status","task":"map task 0","text":"fine"}' "$err"
try weft run -v --shell --map 'cat; printf "reporter:status:half \033[2Jdone\n" >&2' open
check "with -v as a line, without escape sequences" grep -qF 'map task 0: "half \x1b[2Jdone"' "$err"
check_not "which do not reach the terminal" grep -q $'\033' "$err"
answer --shell --map 'env | grep -E "^(mapreduce|map)_"' open >variables
for name in mapreduce_task_id mapreduce_map_input_file mapreduce_job_id map_input_file \
    mapreduce_task_partition mapreduce_task_ismap; do
    check "$name is set" grep -q "^$name=." variables
done
check "the file is named as it was given" grep -qx 'map_input_file=open' variables

# --- tasks of N lines
seq 1 10 >ten
printf '4\n4\n2\n' >expected
gives "--lines-per-task cuts by lines" expected answer --lines-per-task 4 --map 'wc -l' ten

# --- keys, parts, orders
printf 'b 2 x\na 10 y\na 9 z\nb 1 w\n' | tr ' ' '\t' >fields
printf 'a 9 z\na 10 y\nb 1 w\nb 2 x\n' | tr ' ' '\t' >expected
gives "--sort-fields orders keys of --key-fields" expected \
    answer --map cat --reduce cat --key-fields 2 --sort-fields '-k1,1 -k2,2n' fields
check "--partition-fields puts equal first fields into one part" eval '
    weft run -q --map cat --reduce cat --key-fields 2 --partition-fields 1 --reducers 3 fields -o parts/ &&
    [ "$(for part in parts/part-*; do cut -f 1 "$part" | sort -u; done | wc -l)" = 2 ]'
printf '2;b;1\n1;a;1\n' >semicolons
printf '1;a;1\n2;b;1\n' >expected
gives "--separator cuts elsewhere than at TABs" expected answer --separator ';' --map cat --reduce cat semicolons
printf 'LongValueSum:a\t1\nLongValueMax:b\t3\nLongValueSum:a\t4\nLongValueMax:b\t7\n' >aggregates
printf 'b\t7\na\t5\n' >expected
gives "aggregate is a reducer" expected answer --map cat --reduce aggregate aggregates
sums="awk -F '\t' '{ n[\$1] += \$2 } END { for (k in n) print k \"\t\" n[k] }'"
tr -cs A-Za-z '\n' <text | sort | uniq -c | awk '{ print $2 "\t" $1 }' | grep . | sort >expected
weft run -q --shell --map "$words | sed 's/\$/\t1/'" --combine "$sums" --reduce "$sums" text | sort |
    grep -v '^	' >combined
grep -v '^	' expected >expected.words
same "a combiner changes nothing but the time" expected.words combined

# --- kept alive
cat >keep.py <<'PYTHON'
import os
import sys

with open("starts", "a") as starts:
    starts.write("x")
for line in sys.stdin:
    sys.stdout.write(line)
    if line == "\x1e\n":
        sys.stdout.flush()
PYTHON
: >starts
gives "--keep: the same answer" text answer --slots 2 --keep --map 'python3 keep.py' text
check "from one process a slot" [ "$(wc -c <starts)" -le 2 ]
fails_with "a command that cannot be kept is told so" 1 'keep' weft run --keep --map 'head -n 1' text

# A record that is the mark would end the task for the command: nothing may be lost silently.
cat >echo.py <<'PYTHON'
import sys

for line in sys.stdin:
    sys.stdout.write(line)
    if line == "\x1e\n":
        sys.stdout.flush()
PYTHON
printf 'ok\n' >kept
for mark in '\x1e\n' '\x1e' '\x1e\r\n'; do
    printf "x\n$mark" >marked
    case $mark in *n) echo y >>marked ;; esac
    fails_with "a record that is the mark ${mark@Q} is refused by name" 2 'byte 2 of marked is the line \\x1e' \
        weft run --keep --map 'python3 echo.py' kept marked kept
done
printf 'a\x1e\n\x1eb\n' >inside
gives "a mark inside a record is text" inside answer --keep --map 'python3 echo.py' inside
cat >early.py <<'PYTHON'
import sys

for line in sys.stdin:
    sys.stdout.write(line)
    if line == "b\n":
        sys.stdout.write("\x1e\n")
    if line == "\x1e\n":
        sys.stdout.flush()
PYTHON
printf 'a\nb\nc\n' >three
fails_with "a mark that was not asked for is an error, not an end" 1 'before that end' \
    weft run --keep --map 'python3 early.py' three
fails_with "also when it is flushed at once" 1 'before that end' \
    env PYTHONUNBUFFERED=1 "$WEFT" run --keep --map 'python3 early.py' three

# --- files that one process gets: between them is the record's own end, when it is missing
joined() {  # NAME EXPECTED OPTION... -- of the files j1 and j2
    printf "$2" >expected
    weft run -q "${@:3}" --map cat j1 j2 >answer
    same "$1" expected answer
}
printf 'a\0' >j1
printf 'b\n' >j2
joined "a last NUL is no end of a line" 'a\0\nb\n'
printf 'a\0b' >j1
printf 'c\0d\0' >j2
joined "-0: a last record gets a NUL" 'a\0b\0c\0d\0' -0
printf 'a;b' >j1
printf 'c;d;' >j2
joined "--delimiter: it gets that" 'a;b;c;d;' --delimiter ';'
printf 'a\n' >j1
joined "--delimiter: a line end is a byte of the record" 'a\n;c;d;' --delimiter ';'

# --- memory
cat >hoard.py <<'PYTHON'
import sys

hoard = ["x" * 10000 for line in sys.stdin]
print(len(hoard))
PYTHON
if is_sanitized; then
    skip "a mapper that takes too much is stopped" "a sanitizer takes more"
else
    fails_with "a mapper that takes too much is stopped" 5 'uses [0-9]+ MiB of memory' \
        weft run --memory 200M --map 'python3 hoard.py' long
    fails_with "a reducer as well" 5 'uses [0-9]+ MiB of memory' \
        weft run --memory 200M --map cat --reduce 'python3 hoard.py' long
    fails_with "and one behind a pipe" 5 'uses [0-9]+ MiB of memory' \
        weft run --memory 200M --shell --map 'cat | python3 hoard.py' long
fi

# --- nothing is left
for ms in 50 300; do
    try corral -a $ms -s 9 -l "$left" -- "$WEFT" run -q --shell \
        --map 'sleep 300 & setsid sleep 300 & cat; sleep 300' text
    nothing_left "kill -9 of weft after $ms ms leaves no command and nothing that it started"
done
for number in 2 15; do
    try corral -a 200 -s $number -l "$left" -- "$WEFT" run -q --shell --map 'sleep 300 & cat; sleep 300' text
    nothing_left "nor does signal $number"
done
# --- many small files: a process for a batch of them

mkdir small
for n in $(seq 300); do printf 'line %s\n' "$n" >"small/$(printf '%04d' "$n")"; done
printf 'without an end' >small/0017
: >small/0100
awk 1 small/* >in-order
printf '#!/bin/sh\necho a process\nexec cat\n' >tells && chmod +x tells
processes() { weft run -q --map "$@" small | grep -c 'a process'; }
gives "small files reach a mapper in order, whole lines each" in-order answer --map cat small
sort in-order | uniq -c >expected
gives "cat FILES | MAP | sort | REDUCE" expected answer --map cat --reduce 'uniq -c' small
check "300 files do not need 300 processes" [ "$(processes ./tells)" -lt 20 ]
check "a process for each with --per-file" [ "$(processes ./tells --per-file)" = 300 ]
check "and with --format files" [ "$(processes ./tells --format files)" = 300 ]
for slots in 1 3; do
    answer -n $slots --map ./tells small >"by-$slots"
done
same "the batches do not depend on slots" by-1 by-3
awk '{ print FILENAME ": " $0 }' small/* >expected
gives "a command that asks for its file has one" expected \
    answer --shell --map 'sed "s|^|$mapreduce_map_input_file: |"' small
printf '#!/bin/sh\nsed "s|^|$map_input_file: |"\n' >asks && chmod +x asks
gives "so has a script that does" expected answer --map ./asks small
gives "and one that an interpreter runs" expected answer --map 'sh asks' small
printf '#!/bin/sh\n. ./asks-inside\n' >asks && printf 'sed "s|^|${map_input_file?}: |"\n' >asks-inside
fails_with "one that hides it is told of no file rather than of a wrong one" 1 'map_input_file' answer --map ./asks small
gives "until it says so" expected answer --per-file --map ./asks small

printf '#!/bin/sh\nwhile read -r line; do\n    [ "$line" = "line 250" ] && exit 3\n    echo "$line"\ndone\n' >picky && chmod +x picky
grep -v '^line 250$' in-order >expected
gives "the bad record of a batch is found and left out" expected answer --skip-bad 1 --map ./picky small
check "and listed with its file" grep -q 'small/0250' _weft-bad-records.jsonl
try answer --max-attempts 1 --map ./picky small
id=$(grep -o 'weft replay [0-9a-f]*' "$err" | head -1 | cut -d' ' -f3)
try weft replay "$id"
check "and the record can be run again" [ "$code" != 0 ]
says "which tells the file it is in" 'small/0250'

finish
