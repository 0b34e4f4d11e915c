#!/bin/bash
# What is said on stderr: state changes and a summary, less with -q, more with -v, JSON with --json.
. "$(dirname "$0")/lib.sh"

generate words 3000000 351 >text
oracle words text >expected

try weft run wordcount text
same "stdout carries only the answer" expected "$out"
cp "$err" talk
check "stderr has a summary" [ -s talk ]
for word in records MB 'MB/s' spill read map combine sort merge reduce write idle; do
    says "the summary tells of $word" "$word"
done
says "the summary tells the seconds" '[0-9] ?s\b'
records=$(wc -l <text)
says "the summary counts the records read" "$(printf "%'d" "$records")|$records|$((records / 1000))[.,]?[0-9]*"
check "without a terminal there is no carriage return and no escape" eval '! grep -q "[[:cntrl:]]" <(tr -d "\n\t" <talk)'
check "lines are at most 100 columns" eval '! grep -E "^.{101}" talk'

try weft run -q wordcount text
check "-q says nothing" [ "$code:$(wc -c <"$err")" = 0:0 ]
try weft run --quiet wordcount text
check "--quiet says nothing" [ "$code:$(wc -c <"$err")" = 0:0 ]
fails_with "-q still says what is wrong" 4 'missing' weft run -q wordcount missing
try weft run -v wordcount text
check "-v says more than nothing said" [ "$(wc -l <"$err")" -gt "$(wc -l <talk)" ]
same "with the same answer" expected "$out"

try weft run --json wordcount text
same "--json leaves the answer alone" expected "$out"
check "every line of --json is an object" jsonlines <"$err"
check "there are several" [ "$(wc -l <"$err")" -ge 2 ]
tail -n 1 "$err" >last && jsonlines <last >last.fields
for field in records bytes seconds spill read map combine sort merge reduce write idle; do
    check "the last object, the summary, tells of $field" grep -qi "$field" last.fields
done
check "the summary counts the records read" grep -qw "$records" last.fields
check "the summary counts the bytes read" grep -qw "$(wc -c <text)" last.fields
check "the summary counts the records written" grep -qw "$(wc -l <expected)" last.fields
check "the summary counts the bytes written" grep -qw "$(wc -c <expected)" last.fields
check "the summary tells how much memory was used" grep -q '"memory_peak_bytes":[1-9]' last
jsonlines -s <"$err" | sed 's/ .*//; s/.*\.//; s/\[.*//' | sort -u | grep . >fields
check "every field is documented" eval '
    while read -r field; do grep -q "\`$field\`" "$root/docs/json.md" || { echo "$field"; exit 1; }; done <fields'
check "every object says what it is" eval '[ "$(grep -cE "\"(event|type)\":" "$err")" = "$(wc -l <"$err")" ]'

try weft run --json wordcount missing
check "with --json a failure has its exit code" [ "$code" = 4 ]
check "and every line is an object all the same" jsonlines <"$err"
says "which names the file" 'missing'
says "and the code" 'NOT_FOUND'
# A name that needs escaping, also one that is not UTF-8.
odd=$(printf 'a"b\\c\001\xff')
try weft run --json wordcount "$odd"
check "a name with quotes and bad bytes is escaped" jsonlines <"$err"
try weft run --json -o counts wordcount text
check "with -o there are objects too" jsonlines <"$err"
check "and nothing on stdout" [ "$code:$(wc -c <"$out")" = 0:0 ]
try weft run --json --memory 16M sort text
check "a job that spills tells in objects" jsonlines <"$err"

: >nothing
try weft run wordcount nothing
check "an empty input is a success" [ "$code" = 0 ]
says "and the summary says that there were no records" '\b0 records|no records|empty'
try weft run --json wordcount nothing
check "also in JSON, without a number that is none" jsonlines <"$err"

seq 1 3000000 >distinct
try weft run --json wordcount distinct
check "the summary tells that keys were sorted, not hashed" grep -q '"switched_to_sort":true' "$err"
try weft run --json wordcount text
check "and that they were not" grep -q '"switched_to_sort":false' "$err"

finish
