#!/bin/bash
# C jobs that look into records: columns by name, values of JSON; what is wrong with the data is theirs to say.
. "$(dirname "$0")/lib.sh"
formats() { python3 "$e2e/tools/formats.py" "$@"; }
for job in csv_groups jsonl_groups json_value record_places; do compile $job || exit 1; done

# --- csv ----------------------------------------------------------------------------------------------

formats make csv 6000000 11 >table
formats csv-groups table >expected
for options in "-n 1" "-n 4" "-n 3 --memory 16M" "--reducers 3"; do
    # shellcheck disable=SC2086
    gives "columns by name, $options" expected answer ./csv_groups $options table
done
gzip -c table >table.gz
gives "in gzip" expected answer ./csv_groups table.gz
formats bgzip table table.bgz
gives "in bgzip, far from the header" expected answer -n 3 ./csv_groups table.bgz

# Columns in another order in each file, another separator, a mark of byte order.
printf '\357\273\277amount;group;id;"the ""name"""\n5;g1;1;a;b\n' | sed 's/a;b/"a;b"/' >other
printf 'g1/a;b\t1 5\n' >expected
gives "another separator" expected answer --format 'csv:header,separator=;' ./csv_groups other
tr ';' '\t' <other >tabs
printf 'g1/a\tb\t1 5\n' >expected
gives "fields with TABs between them" expected answer --format 'csv:header,separator=\t' ./csv_groups tabs
{ printf 'id,the_name,group,amount\n' && yes '1,x,g,2' | head -n 3; } | sed 's/the_name/"the ""name"""/' >one
printf '"the ""name""",amount,id,group\r\nx,7,1,g\r\n' >two
printf 'g/x\t4 13\n' >expected
gives "each file has its own header" expected answer ./csv_groups one two
printf 'id,group\n1,2\n' >narrow
fails_with "a column that is not there is named" 1 "(2 fields|no column)" weft run --max-attempts 1 ./csv_groups narrow
fails_with "columns without a header" 1 'csv:header' weft run --max-attempts 1 --format csv ./csv_groups one

{ cat one && echo '1,x,g' && cat one; } >short
fails_with "a wrong number of fields is told with its place" 1 'row 4 has 3 fields' \
    weft run --max-attempts 2 ./csv_groups short -o out
says "and file and offset" 'short.*[^0-9]55([^0-9]|$)'
check "no output is left" test ! -e out
printf 'id,"the ""name""",group,amount\n1,x"y,g,3"\n' >stray
fails_with "a stray quote" 1 'stray quote' weft run --max-attempts 1 ./csv_groups stray

# --- JSON ---------------------------------------------------------------------------------------------

formats make jsonl 6000000 12 >objects
formats jsonl-groups objects >expected
for options in "-n 1" "-n 4" "-n 3 --memory 16M"; do
    # shellcheck disable=SC2086
    gives "JSON by path, $options" expected answer ./jsonl_groups $options objects
done
cat >values <<'JSON'
{"a":{"b":[10,{"c":"x\ty\u00e4\ud83e\uddf6"}]}}
{"a":null}
{"a":{"b":[1,{"c":false}]}}
JSON
printf 'x\ty\303\244\360\237\247\266\t9\nnothing\t0\nfalse\t5\n' >expected
gives "strings are unescaped, the rest is as it is written" expected answer ./json_value a.b.1.c values
echo '{"a":' >broken
fails_with "broken JSON is shown" 1 'not JSON.*: \{"a":' weft run --max-attempts 1 ./json_value a broken

python3 -c 'print("{\"a\":" + "[" * 10000 + "]" * 10000 + "}")' >deep
fails_with "nesting 10,000 deep is refused, not followed" 1 'deeper than 256' \
    weft run --max-attempts 1 ./json_value a.0.0 deep
printf 'deep:1:0:' >expected && cat deep >>expected
gives "who does not look into it is not concerned" expected answer --format jsonl ./record_places deep

# A line of 100 MiB.
{ printf '{"a":"' && head -c 104857600 /dev/zero | tr '\0' x && printf '","b":7}\n{"b":8}\n'; } >long
printf '7\t1\n8\t1\n' >expected
gives "a line of 100 MiB" expected answer -n 1 --memory 1G ./json_value b long
fails_with "and with too little memory it says so" 5 'longer than .*--memory' \
    weft run -n 1 --memory 64M ./json_value b long -o out
says "with the file and the offset" 'long.*offset 0'
check "no output is left" test ! -e out
rm long

# --- what is left out ---------------------------------------------------------------------------------

# Bad rows far apart, also in what can only be read from its front: numbers and places stay right.
awk 'NR % 20000 == 0 { print "bad,row" } { print }' table >holes
formats places csv:header holes | grep -a ':bad,row$' | cut -d : -f 2,3 >expected
[ "$(wc -l <expected)" -gt 3 ] || exit 1
formats csv-groups table >groups
gzip -c holes >holes.gz
formats bgzip holes holes.bgz
for file in holes holes.gz holes.bgz; do
    gives "$file: bad rows are left out" groups \
        answer -n 2 --skip-bad 100 --bad-records listed ./csv_groups $file
    sed -E 's/.*"offset":([0-9]+).*row ([0-9]+) has.*/\2:\1/' listed | sort -t : -k 2,2n >actual
    same "$file: and listed with the number and offset they have" expected actual
    rm -f listed
done
fails_with "too many of them end the job" 1 'skip-bad|bad records' \
    weft run --skip-bad 1 --bad-records listed ./csv_groups holes -o out
finish
