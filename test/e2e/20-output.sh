#!/bin/bash
# Output: stdout or -o FILE, committed by rename, an existing one refused without --force.
# also: asan
. "$(dirname "$0")/lib.sh"

generate words 300000 201 >text
oracle words text >expected

gives "stdout carries only the answer" expected weft run wordcount text
gives "-o - is stdout" expected weft run wordcount text -o -
try weft run wordcount text -o counts
check "-o FILE leaves stdout empty" [ "$code:$(wc -c <"$out")" = 0:0 ]
same "-o FILE has the answer" expected counts
check "-o FILE has the mode any new file has" [ "$(stat -c %a counts)" = "$(printf '%o' $((0666 & ~0$(umask))))" ]
(umask 077 && answer wordcount text -o private)
check "the umask is respected" [ "$(stat -c %a private)" = 600 ]
check "-o makes a file by an absolute name" answer wordcount text -o "$PWD/absolute"
same "and it has the answer" expected absolute
mkdir sub && check "-o makes a file in another directory" answer wordcount text -o sub/counts
check "nothing else is left in that directory" [ "$(ls -A sub)" = counts ]
check "-o takes a name with blanks" answer wordcount text -o 'sub/two words'
same "and it has the answer too" expected 'sub/two words'
: >nothing
check "an empty answer makes an empty file" answer wordcount nothing -o empty
same "an empty file" nothing empty

echo "keep me" >old && cp old old.copy
fails_with "an existing output is refused" 5 'old.*exist|exist.*old' weft run wordcount text -o old
same "and stays as it was" old.copy old
says "the message tells of --force" '--force'
fails_with "an existing output is refused before the input is read" 5 'exist' \
    weft run wordcount - -o old <text
check "--force replaces it" answer wordcount text -o old --force
same "with the answer" expected old
cp old.copy old
fails_with "a job that fails" 4 'missing' weft run wordcount missing -o old --force
same "leaves the old output in spite of --force" old.copy old
fails_with "a job that fails makes no output" 4 'missing' weft run wordcount missing -o new
check "no file, whole or half" [ ! -e new ]
mkdir dir
fails_with "a directory is not a file" 2 'dir' weft run wordcount text -o dir
fails_with "nor with --force" 2 'dir' weft run wordcount text -o dir --force
check "and stays a directory" [ -d dir ]
fails_with "an output in a directory that is missing" 4 'nowhere' weft run wordcount text -o nowhere/counts
fails_with "an output below a file" 4 'text/counts' weft run wordcount text -o text/counts
cp text self && sort text >expected.sorted
check "an output may be its own input with --force" answer sort self -o self --force
same "and is complete" expected.sorted self
ln -s target link && echo t >target && cp target target.copy
fails_with "a link to an existing file is refused" 5 'link' weft run wordcount text -o link
same "and its target stays" target.copy target

# stdout is the shell's: what is before the answer stays, what comes after it comes after it.
{ echo header && cat expected && echo footer; } >expected.framed
{ echo header && answer wordcount text && echo footer; } >framed 2>"$err"
same "the answer goes where stdout stands" expected.framed framed
echo header >framed
{ answer wordcount text && echo footer; } >>framed 2>"$err"
same "the answer is appended to a file opened for that" expected.framed framed
{ echo header && answer wordcount text && echo footer; } 2>"$err" | cat >framed
same "the answer goes through a pipe between other words" expected.framed framed
cat expected text >longer && head -c 100 longer >expected.kept
{ head -c 100 longer && answer wordcount nothing; } >framed 2>"$err"
same "an empty answer changes nothing on stdout" expected.kept framed
cp text loop && cp text loop.copy
onto_itself() { weft run -q sort loop >>loop; }
try onto_itself
check "a file is not read and written at once" [ "$code" != 0 ]
same "and stays as it was" loop.copy loop

# What reads the answer may stop early.
try bash -c '"$WEFT" run -q wordcount text | head -n 1 >first-line'
head -n 1 expected >expected.first
same "a reader that leaves early has what it read" expected.first first-line
generate lines 300000 202 >large
early() { corral -l "$left" -- "$WEFT" run -q sort large | head -n 1; }
sort large | head -n 1 >expected.first
gives "also when the answer is larger than any pipe" expected.first early

if [ -e /dev/full ]; then
    full() { weft run sort large >/dev/full; }
    fails_with "a full stdout is an error that says so" 5 'standard output.*space' full
else
    skip "a full stdout is an error that says so" "no /dev/full here"
fi
shut() { weft run wordcount text >&-; }
fails_with "a closed stdout is an error that says so" '1|2' 'closed' shut
fails_with "a place where no file can be is told by the name that was given" 5 'cannot write /proc/x$' weft run -q wordcount text -o /proc/x
says "with what to do" 'try: a directory that you may write in'
fails_with "a directory there too" 5 'cannot write /proc/x/$' weft run -q wordcount text -o /proc/x/
asked() { weft run -q grep -q "$1" text >&-; }
try asked .
check "a question needs none: found" [ "$code" = 0 ]
try asked 'no such line'
check "a question needs none: not found" [ "$code" = 1 ]
check "and nothing is said" [ ! -s "$err" ]

nothing_left "nothing is left by all of these"
check "the output directory holds no temporary file" eval '! ls -A | grep -E "^\.|tmp|weft-"'

finish
