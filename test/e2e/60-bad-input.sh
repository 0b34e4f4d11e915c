#!/bin/bash
# Bad input gets a clear error, and nothing is lost.
. "$(dirname "$0")/lib.sh"

echo words >words
noinput() { weft run wordcount </dev/null; }
fails_with "no input is wrong usage" 2 'no input' noinput
mkdir hollow
: >names.txt
gives "a directory without files gives nothing" names.txt weft run wordcount hollow
says "and the summary says that there was none" '0 files'
gives "an empty @names.txt gives nothing" names.txt weft run wordcount @names.txt

fails_with "a missing file: what" 4 'no-such-file' weft run wordcount words no-such-file
says "and why" 'no such file'
fails_with "a name that is too long" '2|4|5' 'too long' weft run wordcount "$(head -c 300 /dev/zero | tr '\0' n)"
ln -s dangling broken && fails_with "a dangling link" 4 'broken' weft run wordcount broken
ln -s circle circle && fails_with "a link to itself" '1|4' 'circle' weft run wordcount circle
mkdir deep && cp words deep/ && ln -s dangling deep/broken
fails_with "a dangling link in a directory is named" 4 'deep/broken' weft run wordcount deep

if can_be_nobody; then
    mkdir locked && cp words locked/secret && echo mine >secret && chmod 000 secret && chmod 000 locked
    nobody() { as_nobody env HOME=/nonexistent "$WEFT" "$@"; }
    fails_with "a file without read permission" 5 'secret.*permission|permission.*secret' nobody run wordcount secret
    fails_with "a file among others without read permission" 5 'secret' nobody run wordcount words secret
    fails_with "a directory without permission" 5 'locked' nobody run wordcount locked
    chmod 755 locked && mkdir outer && cp words outer/ && mkdir outer/inner && chmod 000 outer/inner
    fails_with "a directory inside without permission" 5 'outer/inner' nobody run wordcount outer
    mkdir readonly && chmod 555 readonly
    fails_with "an output directory without write permission" 5 'readonly' nobody run wordcount words -o readonly/counts
    fails_with "the same for a directory of parts" 5 'readonly' nobody run wordcount words -o readonly/parts/
    check "and nothing is in it" [ -z "$(ls -A readonly)" ]
    generate lines 700000 601 >lines
    fails_with "a spill directory without write permission" 5 'readonly' \
        nobody run --memory 16M --tmp readonly sort lines
else
    skip "files without permission" "the command is not reachable for an ordinary user"
fi

compile shrink
generate words 40000000 602 >shrinking
fails_with "a file that shrinks while it is read" 1 'shrinking.*(shrank|shorter|changed|smaller)|(shrank|shorter|changed|smaller).*shrinking' \
    weft run -n 1 ./shrink -s 100000 shrinking -o counts
check "there is no output of a half-read file" [ ! -e counts ]

# The mapper of the first file writes into the second, which stays as long.
echo first >one && echo second >two && touch -d '1 hour ago' one two
fails_with "a file that is overwritten in place" 1 'two was changed while it was read, at 20' \
    weft run -n 1 --lines-per-task 1 --shell --map 'cat; echo SECOND >two' one two -o counts
check "there is no output of both" [ ! -e counts ]

# The mapper of the first file puts another one in the place of the second, which is as long.
echo first >one && echo second >two && echo other. >new && touch -d '1 hour ago' one two
fails_with "a file that is replaced before it is read" 1 'two was replaced by another file' \
    weft run -n 1 --lines-per-task 1 --shell --map 'cat; [ ! -e new ] || mv new two' one two -o counts
check "there is no output of two files for one" [ ! -e counts ]
echo first >one && echo second >two && printf 'first\nsecond\n' >expected
gives "a file that is appended to is read as it was" expected \
    weft run -q -n 1 --lines-per-task 1 --shell --map 'cat; echo more >>two' one two

# Few descriptors: many files, many runs, many parts.
few() { (ulimit -n 64 && weft run -q "$@"); }
mkdir small && for i in $(seq 1 500); do echo "w$i common" >"small/$i"; done
oracle words small/* >expected
gives "500 files with 64 descriptors" expected few wordcount small
[ -f lines ] || generate lines 700000 601 >lines
sort lines >expected
gives "a sort that spills with 64 descriptors" expected few --memory 16M sort lines
few --memory 16M sort lines --reducers 100 -o parts/ 2>"$err"
cat parts/part-* >actual
same "a hundred parts with 64 descriptors" expected actual
gives "seven slots with 64 descriptors" expected few -n 7 sort lines
none() { (ulimit -n 8 && weft run wordcount words); }
try none
check "eight descriptors work or are a clear error" eval '
    [ "$code" = 0 ] || { [ "$code" -lt 70 ] && grep -qiE "file|descriptor" "$err"; }'
processes() { (ulimit -v 4000000 && weft run -q --memory 64M wordcount words); }
printf 'words\t1\n' >expected
is_sanitized || gives "a limit of 4 GB address space is no obstacle" expected processes

finish
