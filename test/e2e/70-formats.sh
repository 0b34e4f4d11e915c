#!/bin/bash
# Records of every format: what each is, where it begins, and that it does not matter how inputs are cut.
# takes long
. "$(dirname "$0")/lib.sh"
formats() { python3 "$e2e/tools/formats.py" "$@"; }
compile record_places || exit 1
places() { answer ./record_places "$@"; }

# --- what a record is -------------------------------------------------------------------------------

# records FORMAT TEXT EXPECTED: one record a line; the record's own line ends are shown as |.
records() {
    printf '%b' "$2" >input
    printf '%b' "$3" >expected
    # shellcheck disable=SC2086 # options with their value
    places ${4:-} --format "$1" input >places
    cut -d : -f 4- places >actual
    same "$1 ${4:-}: $2" expected actual
}
records lines 'a\nb\n' 'a\nb\n'
records lines 'a\r\nb\r\n\r\n' 'a\nb\n\n'
records lines 'a\nb' 'a\nb\n'
records lines 'a\rb\r' 'a\rb\r\n'
records lines '\n\n' '\n\n'
records lines '' ''
records lines 'a;b;c' 'a\nb\nc\n' '--delimiter ;'
records lines 'a\tb\t' 'a\nb\n' '--delimiter \t'
records lines 'a\x1eb\x1e' 'a\nb\n' '--delimiter \x1e'
records 'lines:delimiter=;' 'a;b' 'a\nb\n'
records lines 'a\0b\r\0\0' 'a\nb\r\n\n' -0
records chunks 'a\nb\n' 'a\nb\n\n'
records chunks 'a;b' 'a;b\n' '--delimiter ;'
records files 'a\nb' 'a\nb\n'
records files '' '\n'
records csv 'a,"b\nc"\r\nd,"e""f"\n\n\r\ng' 'a,"b\nc"\nd,"e""f"\ng\n'
records csv '\xef\xbb\xbfa,b\nc,d\n' 'a,b\nc,d\n'
records csv:header '\xef\xbb\xbf"a\n1",b\nc,d\n' 'c,d\n'
records csv:header '\n\r\na,b\nc,d\n' 'c,d\n'
records csv:header 'a,b' ''
records jsonl '{"a":1}\r\n\n[2]\n3' '{"a":1}\n[2]\n3\n'
records fixed:3 'abc\n\n\nghi' 'abc\n\n\n\n\nghi\n'

# The built-in jobs see the same records.
printf 'b;a;b' >input
printf 'a\t1\nb\t2\n' >expected
gives "count --delimiter" expected answer --delimiter ';' count input
gives "wordcount --delimiter" expected answer --delimiter ';' wordcount input
printf 'a\nb\nb\n' >expected
gives "sort --delimiter" expected answer --delimiter ';' sort input
printf 'b\nb\n' >expected
gives "grep --delimiter" expected answer --delimiter ';' grep b input
printf 'bab' >input
printf 'a\t1\nb\t2\n' >expected
gives "count of fixed records" expected answer --format fixed:1 count input
gives "wordcount of fixed records" expected answer --format fixed:1 wordcount input
printf 'x\ny\0a\0\0' >input
printf '\na\nx\ny\n' >expected
gives "sort -0 keeps a line end inside" expected answer -0 sort input
printf '3\n' >expected
gives "grep -0 -c counts records, the empty one too" expected answer -0 grep -c '^' input
printf '2\n' >expected
gives "grep -0 -vc" expected answer -0 grep -vc y input
printf 'n,"a\nb"\nm,c\n' >input
printf 'm,c\nn,"a\nb"\n' >expected
gives "sort of csv rows" expected answer --format csv sort input
printf 'n,"a\nb"\n' >expected
gives "grep finds rows, not their lines" expected answer --format csv grep b input

# A record of TFRecord is its payload, whatever bytes that has; frames are neither words nor lines.
printf 'b a\nc\0b\0\0b\0' >input
answer -0 --output-format tfrecord sort input >payloads.tfrecord
printf '\t1\nb\t2\nb a\nc\t1\n' >expected
gives "count of tfrecord" expected answer --format tfrecord count payloads.tfrecord
printf 'a\t1\nb\t3\nc\t1\n' >expected
gives "wordcount of tfrecord" expected answer --format tfrecord wordcount payloads.tfrecord
gives "wordcount -i of tfrecord" expected answer --format tfrecord wordcount -i payloads.tfrecord
printf 'a\tpayloads.tfrecord\nb\tpayloads.tfrecord\nc\tpayloads.tfrecord\n' >expected
gives "index of tfrecord" expected answer --format tfrecord index payloads.tfrecord
printf 'b a\nc\n' >expected
gives "grep finds payloads" expected answer --format tfrecord grep '^c$' payloads.tfrecord
: >empty
printf '3\n0\n' >expected
gives "grep -c counts payloads of each file" expected answer --format tfrecord grep -c b payloads.tfrecord empty
printf '1\n0\n' >expected
gives "grep -vc" expected answer --format tfrecord grep -vc b payloads.tfrecord empty
printf 'b a\nc\nb\nb\n\n' >expected
gives "sort of tfrecord" expected answer --format tfrecord sort -r payloads.tfrecord
answer --format tfrecord --output-format tfrecord sort payloads.tfrecord >actual
same "tfrecord in, tfrecord out" payloads.tfrecord actual

# --- cut anywhere -------------------------------------------------------------------------------------

# anywhere NAME FORMAT OPTIONS...: places as python finds them, however it is cut and whoever reads it.
# A split is a megabyte.
anywhere() {
    local name=$1 format=$2
    shift 2
    formats places "$format" "$name" >expected
    for slots in "-n 1" "-n 4" "-n 3 --memory 16M"; do
        # shellcheck disable=SC2086
        gives "$format of many pieces, $slots" expected places $slots "$@" "$name"
    done
}
formats make lines 20000000 1 >lines
anywhere lines lines
check "in many tasks" test "$(weft run --json ./record_places lines 2>&1 >/dev/null | jsonlines -g map_tasks)" -gt 3
formats make nul 5000000 2 >nul
anywhere nul delimiter:00 -0
formats make csv 20000000 3 >csv
anywhere csv csv:header --format csv:header
formats make jsonl 8000000 4 >jsonl
anywhere jsonl jsonl --format jsonl
formats make fixed 5000000 5 >fixed
anywhere fixed fixed:16 --format fixed:16
anywhere fixed fixed:1000 --format fixed:1000

# Chunks: all bytes, in order, each a megabyte or what was left of a piece, cut at line ends.
answer ./record_places --format chunks -n 3 lines | sed -E 's/^lines:[0-9]+:[0-9]+://; /^$/d' >actual
sed '/^$/d' lines >expected
same "chunks are all of the text" expected actual
answer -n 3 count --format chunks lines >actual
answer -n 2 count lines >expected
same "to a built-in job chunks are lines" expected actual

# One file, or the same in many.
split -C 300000 lines part-
answer ./record_places part-* | cut -d : -f 4- >actual
answer ./record_places lines | cut -d : -f 4- >expected
same "lines in many files" expected actual
answer --output-format tfrecord sort lines >tfrecord
formats places tfrecord tfrecord >expected
gives "tfrecord" expected places --format tfrecord -n 3 tfrecord
formats places files part-a? >expected
gives "files" expected places --format files -n 3 part-a?

# --- what is wrong is told ------------------------------------------------------------------------------

fails_with "a format that is none" 2 'lines, chunks, files, csv' weft run --format xml ./record_places lines
fails_with "a delimiter of two bytes" 2 'one byte' weft run --delimiter ab ./record_places lines
fails_with "a delimiter for csv" 2 'lines and chunks' weft run --format csv --delimiter x ./record_places lines
fails_with "fixed:0" 2 '1 to' weft run --format fixed:0 ./record_places lines
fails_with "a separator that cannot be one" 2 'quote or a line end' \
    weft run --format 'csv:separator="' ./record_places lines
head -c 4999990 fixed >cut
fails_with "a rest at the end of fixed records" 1 'cut:? ?.*left at the end' \
    weft run --format fixed:16 -o out ./record_places cut
check "leaves no output" test ! -e out
{ head -c 5000000 csv | tr -d '"' && printf '\na,"open\n' && head -c 5000000 csv | tr -d '"'; } >open.csv
at=$(grep -abo '^a,"open' open.csv | cut -d : -f 1)
fails_with "an open quote names the row where it begins" 1 "open.csv.* $at.*open quote" \
    weft run --format csv ./record_places open.csv -o out
head -c 1000000 tfrecord >cut.tfrecord
fails_with "a cut tfrecord" 1 'cut.tfrecord.*offset [0-9]+.*(ends inside|cut off)' \
    weft run --format tfrecord ./record_places cut.tfrecord -o out
{ head -c 5000 tfrecord && printf '\377' && tail -c +5002 tfrecord; } >bad.tfrecord
fails_with "a damaged tfrecord" 1 'bad.tfrecord.*offset [0-9]+.*checksum' \
    weft run --format tfrecord ./record_places bad.tfrecord -o out
fails_with "a damaged tfrecord in a built-in job" 1 'bad.tfrecord.*offset [0-9]+.*checksum' \
    weft run --format tfrecord count bad.tfrecord -o out
answer --format tfrecord --skip-bad 1 sort bad.tfrecord >actual
check "is left out with --skip-bad" test "$(wc -l <actual)" -eq "$(($(wc -l <lines) - 1))"
check "and listed" test "$(wc -l <_weft-bad-records.jsonl)" -eq 1
answer --format tfrecord -n 3 sort tfrecord >actual
sort lines >expected
same "sort of a large tfrecord" expected actual
fails_with "blocks of tfrecord are not for commands" 2 'frames.*--format files|--format files' \
    weft run --format tfrecord --map cat tfrecord
fails_with "a text that is no tfrecord" 1 'lines.*not a tfrecord' \
    weft run --format tfrecord ./record_places lines -o out
check "leaves no output" test ! -e out

# --- names ------------------------------------------------------------------------------------------------

mkdir names
printf 'x,1\n' >'names/with space'
printf 'x,2\n' >$'names/with\nline end'
printf 'x,3\n' >names/-dash
(cd names && formats places csv -dash $'with\nline end' 'with space') >expected
(cd names && answer ../record_places --format csv -- -dash $'with\nline end' 'with space') >actual
same "names with blanks, line ends and dashes" expected actual
finish
