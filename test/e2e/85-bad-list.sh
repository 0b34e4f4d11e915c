#!/bin/bash
# Where the list of bad records goes: among the user's files, none of which it may cost.
# takes long
. "$(dirname "$0")/lib.sh"

printf '#!/bin/sh\nwhile read -r l; do [ "$l" = boom ] && exit 3; echo "$l"; done; exit 0\n' >map
chmod +x map
printf 'a\nboom\n' >two
echo a >one

# ---- over an input --------------------------------------------------------------------------------------

# keeps SENTENCE WORD...: the run is refused since its list is an input, and `data` stays as it was.
keeps() {
    local sentence=$1
    shift
    cp data before
    fails_with "$sentence" 2 'is an input and also the list of bad records' weft run -q --skip-bad 3 "$@"
    check "and stays as it was" cmp data before
}
printf '{"file":"a","n":1}\n{"file":"b","n":2}\n' >data
keeps "an input that looks like a list is not taken for one" --bad-records data --format jsonl sort data
keeps "not with --force either" --force --bad-records data --format jsonl sort data
ln -s data linked
keeps "nor by another name" --bad-records ./linked --format jsonl sort data
mkdir inside && ln data inside/data
keeps "nor one that is found in a directory" --force --bad-records data --format jsonl sort inside
echo data >names
keeps "or by a list of names" --force --bad-records data --format jsonl sort @names
cp data before
try weft run -q --skip-bad 3 --force --bad-records data sort - <data
check "or is standard input" eval '[ $code = 2 ] && cmp data before'
printf 'text\n' >data
keeps "a text" --force --bad-records data sort data
: >data
keeps "an empty input" --bad-records data sort data
weft run -q --skip-bad 3 --bad-records list --map ./map two >/dev/null 2>&1
cp list data
keeps "a list that is read as data" --bad-records data sort data

# ---- what is ours ---------------------------------------------------------------------------------------

# stays SENTENCE: `old` is not taken for a list of ours, neither when there are bad records nor when there are none.
stays() {
    cp old before
    fails_with "$1" 5 'old exists already and is not a list' weft run -q --skip-bad 3 --bad-records old --map ./map two
    fails_with "nor without bad records" 5 'old exists already' weft run -q --skip-bad 3 --bad-records old --map ./map one
    check "and stays" cmp old before
}
printf '{"file":"a","n":1}\n' >old
stays "a file that begins like a list is none"
{ cat list && echo mine; } >old
stays "nor one with a line of somebody else's"
{ cat list && printf '{"file":"x"'; } >old
stays "nor one with something behind it"
sed 's/"offset":[0-9]*/"offset":"2"/' list >old
stays "nor one with another kind of value"
for ((i = 0; i < 3000; i++)); do cat list; done >old
echo mine | cat old - >longer && cp longer old
stays "nor a long one whose last line is not ours"
: >empty
try weft run -q --skip-bad 3 --bad-records empty --map ./map one
check "an empty file is not removed" eval '[ $code = 0 ] && [ -e empty ]'
try weft run -q --skip-bad 3 --bad-records empty --map ./map two
check "but written" [ "$code:$(grep -c . empty)" = 0:1 ]
for ((i = 0; i < 3000; i++)); do cat list; done >old
try weft run -q --skip-bad 3 --bad-records old --map ./map one
check "a long list is ours, and goes" eval '[ $code = 0 ] && [ ! -e old ]'
printf 'a\nodd "\\\001\303\244\377\tboom\n' >'a "name\'
printf '#!/bin/sh\n! grep -aq boom\n' >never && chmod +x never
for turn in 1 2; do
    try weft run -q --skip-bad 3 --bad-records odd --map ./never 'a "name\'
    check "a list of odd names and bytes is known again ($turn)" [ "$code:$(grep -c . odd)" = 0:1 ]
done

# ---- over the output ------------------------------------------------------------------------------------

fails_with "the list is not the output" 2 'is the output and also the list' weft run -q --skip-bad 3 -o same --bad-records ./same --map ./map two
check "and nothing is written" [ ! -e same ]
echo old >same && ln same other
fails_with "nor by another name" 2 'is the output and also the list' weft run -q --skip-bad 3 --force -o same --bad-records other --map ./map two
check "which stays" [ "$(cat same)" = old ]
weft run -q -o parts/ --map cat one
fails_with "nor in the directory of the output" 2 'is the output and also' \
    weft run -q --skip-bad 3 --force -o parts/ --bad-records parts/list --map ./map two

# ---- in a directory that is read ------------------------------------------------------------------------

mkdir folder && cp two folder && echo a >expected
for turn in 1 2; do
    (cd folder && "$WEFT" run --skip-bad 5 --map ../map . >../out.$turn 2>../err.$turn)
    same "the list is not read as data, turn $turn" expected out.$turn
done
check "which is not worth a word" eval '! grep -q "left out: in a dir" err.2'
check "and it is there" [ -s folder/_weft-bad-records.jsonl ]
for turn in 1 2; do
    gives "nor one that is named, turn $turn" expected weft run -q --skip-bad 5 --bad-records folder/list.jsonl --map ./map folder
done

# ---- where it cannot be ---------------------------------------------------------------------------------

# refused SENTENCE CODES PATTERN WORD...: before any work.
refused() {
    local sentence=$1 codes=$2 pattern=$3
    shift 3
    rm -f begun
    fails_with "$sentence" "$codes" "$pattern" weft run -q --skip-bad 3 "$@" --map 'touch begun; cat' two
    check "before the work" [ ! -e begun ]
}
refused "a directory that is missing" 4 'list of bad records: cannot write nowhere/list' --bad-records nowhere/list
refused "a directory as the list" 2 'folder is a directory' --bad-records folder
ln -s /nowhere/at/all _weft-bad-records.jsonl
refused "a link that nobody named is not followed" '1|2|3|4|5' 'list of bad records: .*_weft-bad-records.jsonl' --force
rm _weft-bad-records.jsonl
if can_be_nobody; then
    mkdir shut && chmod 555 shut && cp two map shut
    chmod 755 . && (cd shut && as_nobody "$WEFT" run -q --skip-bad 3 --tmp /tmp --map ./map two >../out.shut 2>"$err")
    check "a directory that cannot be written is told before" [ ! -s out.shut ]
    says "by its name" 'list of bad records: cannot write _weft-bad-records.jsonl'
else
    skip "a directory that cannot be written" "nobody can run nothing here"
fi

# ---- descriptors ----------------------------------------------------------------------------------------

for name in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
    refused "$name is the answer's" 2 'is the output and also the list' --bad-records $name
done
printf 'before\n' >log
"$WEFT" run -q --skip-bad 3 --bad-records /dev/stderr --map ./map two 2>>log >"$out"
"$WEFT" run -q --skip-bad 3 --bad-records /dev/fd/7 --map ./map two 7>>log >>"$out"
check "/dev/stderr and /dev/fd/N are written in order" [ "$(cut -c1-8 log | tr '\n' ' ')" = 'before {"file": {"file": ' ]
check "and the answer is there" [ "$(tr '\n' ' ' <"$out")" = 'a a ' ]
refused "a descriptor that is not open" '1|2|3|4|5|6' 'list of bad records: .*/dev/fd/9' --bad-records /dev/fd/9

# The answer by such a name goes where the descriptor stands, like by /dev/stdout.
for name in /dev/fd/1 /proc/self/fd/1; do
    echo before >log
    "$WEFT" run -q --force -o $name --map cat one >>log 2>"$err"
    check "-o $name appends where standard output does" [ "$(tr '\n' ' ' <log)" = 'before a ' ]
done
echo before >log
"$WEFT" run -q -o /dev/fd/7 --map cat one 7>>log >"$out" 2>"$err"
check "and -o /dev/fd/7 likewise" [ "$(tr '\n' ' ' <log)" = 'before a ' ]
fails_with "one that is not open is refused" '1|2|3|4|5|6' '/dev/fd/9 is not open' weft run -q -o /dev/fd/9 --map cat one
cp one grows
"$WEFT" run -q -o /dev/fd/1 --map cat grows >>grows 2>"$err"
check "and an input is not the output by such a name" [ "$?:$(cat grows)" = 2:a ]

# ---- how many, and what is said --------------------------------------------------------------------------

try weft run -q --skip-bad 50% --map ./map two
check "a record that ends a command counts among all" [ "$code:$(cat "$out")" = 0:a ]
try weft run -q --skip-bad 49% --map ./map two
says "and in what is told" '1 of 2 records are bad'
says "all of the output was written" 'all of the output was written before that'
check_not "so it is not cut" grep -q 'output is cut' "$err"
compile mines || exit 1
printf 'a\nboom abort\n' >aborts
try weft run -q --skip-bad 50% ./mines aborts
check "one that ends a job in C likewise" [ "$code:$(cat "$out")" = "0:a$(printf '\t')1" ]
seq 3 | "$WEFT" run -q --output-format tfrecord --map cat - >records
printf '\377' | dd of=records bs=1 seek=30 conv=notrunc status=none
fails_with "and a tfrecord with a wrong checksum" 1 '1 of 3 records are bad' weft run -q --format tfrecord --skip-bad 30% ./mines records

# ---- no room -----------------------------------------------------------------------------------------------

seq 400000 >big && mkdir room
(ulimit -f 100 && exec "$WEFT" run -q --tmp room sort big >"$out") 2>"$err"
says "without room, the directory of --tmp is named" 'no room .*room'
check_not "none is nameless" grep -q ' in ;' "$err"

finish
