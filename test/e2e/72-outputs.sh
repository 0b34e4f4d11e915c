#!/bin/bash
# Output in other forms: csv, jsonl and tfrecord, from every kind of job, read back by others and by us.
# takes long
. "$(dirname "$0")/lib.sh"

# tfrecords: the records of a tfrecord file, one per line; checksums are looked at.
tfrecords() {
    python3 - "$1" <<'PYTHON'
import sys
table = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
    table.append(byte)

def masked(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff

data, at = open(sys.argv[1], "rb").read(), 0
while at < len(data):
    length = int.from_bytes(data[at:at + 8], "little")
    assert int.from_bytes(data[at + 8:at + 12], "little") == masked(data[at:at + 8]), at
    text = data[at + 12:at + 12 + length]
    assert int.from_bytes(data[at + 12 + length:at + 16 + length], "little") == masked(text), at
    sys.stdout.buffer.write(text + b"\n")
    at += 16 + length
PYTHON
}

# unjson: key TAB value of jsonl lines; the values must be numbers or strings as they should be.
unjson() {
    python3 - "$1" <<'PYTHON'
import json, sys
for line in open(sys.argv[1], "rb"):
    pair = json.loads(line)
    text = pair["key"] + ("\t" + str(pair["value"]) if "value" in pair else "") + "\n"
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
PYTHON
}

uncsv() {
    python3 - "$1" <<'PYTHON'
import csv, sys
for row in csv.reader(open(sys.argv[1], newline="", encoding="latin-1")):
    sys.stdout.buffer.write(("\t".join(row) + "\n").encode("latin-1"))
PYTHON
}

generate words 200000 7 >words
printf 'quo"te com,ma \377\376 \303\244\n\n back\\slash a\001b\n' >>words

# The fast ways of the engine (counting, sorting, sorting mapped files), --top, map-only, a reducer.
both() { # NAME JOB...: the answer as text, and in each other form
    local name=$1
    shift
    answer "$@" >text
    answer --output-format csv "$@" >csv
    uncsv csv >uncsv
    same "$name in csv reads back" text uncsv
    answer --output-format jsonl "$@" >jsonl
    check "$name in jsonl is a JSON object a line" jsonlines -s <jsonl
    unjson jsonl >unjson
    same "$name in jsonl reads back" text unjson
    answer --output-format tfrecord "$@" >tfrecord
    tfrecords tfrecord >untf
    same "$name in tfrecord has the text's lines as records" text untf
}
both "wordcount" wordcount words
both "the top 5" --top 5 wordcount words
both "sort" sort words
both "sort -k" sort -k 2 words
both "count" count words
both "grep" grep 'e' words
both "grep -c" grep -c 'e' words
both "index" index words
for _ in {1..50}; do cat words; done >many
answer sort many >text
answer --output-format jsonl sort many >jsonl
unjson jsonl >unjson
same "sort of a large file in jsonl reads back" text unjson

printf '{"key":"a","value":2}\n{"key":"b","value":1}\n' >expected
gives "counts are numbers in jsonl" expected answer --output-format jsonl wordcount - <<<'a b a'
gives "also behind --top" expected answer --output-format jsonl --top 2 wordcount - <<<'a b a'
printf 'a,2\n"b,""",1\n' >expected
gives "what has a separator or a quote is quoted in csv" expected \
    answer --output-format csv wordcount - <<<'a b," a'
printf '{"key":"\\udcff"}\n' >expected
printf '\377\n' >byte
gives "bytes that are not UTF-8 can be had back from jsonl" expected \
    answer --output-format jsonl sort byte

# Parts, slots and memory.
for form in csv jsonl tfrecord; do
    answer --output-format $form wordcount words >expected
    gives "$form does not depend on slots and memory" expected \
        answer --output-format $form -n 3 --memory 16M wordcount words
    answer --output-format $form --reducers 3 wordcount words -o parts-$form/
    cat parts-$form/part-* >parts
    same "$form in three parts is the same one behind the other" expected parts
    check "$form parts are as the manifest says" weft verify parts-$form/
    : >nothing
    gives "an empty answer in $form is empty" nothing answer --output-format $form wordcount nothing
done

# There and back.
cp "$e2e/jobs/record_places.c" .
answer --output-format tfrecord sort words >sorted.tfrecord
answer sort words >sorted
answer ./record_places.c --format tfrecord sorted.tfrecord | cut -d : -f 4- >back
same "we read the tfrecord we have written" sorted back
answer --output-format csv sort words >sorted.csv
answer ./record_places.c --format csv sorted.csv | wc -l >rows
wc -l <sorted >expected
same "and as many csv rows" expected rows

fails_with "an unknown form is refused" 2 'csv|jsonl' weft run --output-format xml sort words
finish
