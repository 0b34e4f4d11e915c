#!/bin/bash
# - is standard input: a pipe, a file, nothing.
. "$(dirname "$0")/lib.sh"

printf 'b a\na' >small
printf 'a\t2\nb\t1\n' >expected
piped() { cat "$1" | weft run -q "${@:2}"; }
from() { weft run -q "${@:2}" <"$1"; }

gives "- reads a pipe" expected piped small wordcount -
gives "- reads a file" expected from small wordcount -
printf 'a\t3\nb\t1\nc\t1\n' >expected
printf 'a c\n' >other
gives "- may stand among files" expected from small wordcount other -
printf 'a c\nb a\na\n' >expected
gives "it is read where it stands" expected from small grep '' other -
printf 'b a\na\na c\n' >expected
gives "also when it stands first" expected from small grep '' - other
: >nothing
gives "an empty pipe gives nothing" nothing piped nothing wordcount -
gives "an empty file gives nothing" nothing from nothing wordcount -
gives "/dev/null gives nothing" nothing from /dev/null wordcount -

generate words 20000000 111 >big
gives "twenty megabytes through a pipe keep their order" big piped big grep '' -
gives "twenty megabytes from a file keep their order" big from big grep '' -
gives "in little memory too" big piped big --memory 16M grep '' -
oracle words big >expected
gives "a large pipe is counted right" expected piped big wordcount -
gives "a large pipe is counted right in little memory" expected piped big --memory 16M -n 3 wordcount -
sort big >expected
gives "a large pipe is sorted in little memory" expected piped big --memory 16M sort -

drip() { for n in 1 2 3 4 5 6; do printf 'li' && sleep 0.05 && printf 'ne %s\n' $n; done; }
drip >expected
dripped() { drip | weft run -q grep '' -; }
gives "lines that arrive in pieces are whole" expected dripped

# The file's position counts: what a shell has read already is not read again.
behind() { { read -r _ && weft run -q grep '' -; } <big; }
tail -n +2 big >expected
gives "a file is read from where it stands" expected behind

# Without INPUT, what is piped in is read, as cat and sort do; a device (a terminal, /dev/null) is not.
printf 'a\t2\nb\t1\n' >expected
gives "without INPUT a pipe is read" expected piped small wordcount
gives "without INPUT a file on standard input is read" expected from small wordcount
mkfifo fifo
cat small >fifo &
gives "without INPUT a FIFO is read" expected from fifo wordcount
gives "without INPUT an empty pipe gives nothing" nothing piped nothing wordcount
printf 'a\nb a\n' >expected
gives "without INPUT a job's argument is still its own" expected piped small sort
printf 'b a\n' >expected
gives "without INPUT grep reads the pipe" expected piped small grep b
gives "without INPUT a command reads the pipe" expected piped small --map 'grep b'
fails_with "without INPUT /dev/null is no input" 2 'no input is given' from /dev/null wordcount
on_terminal() { script -qec "$WEFT run -q wordcount" /dev/null </dev/null; }
if command -v script >/dev/null; then
    try on_terminal
    check "without INPUT on a terminal, the words say what to give" grep -q 'no input is given' "$out"
else
    skip "without INPUT on a terminal, the words say what to give" "there is no script(1)"
fi
compile words
printf 'a\t2\nb\t1\n' >expected
program() { cat small | ./words -q; }
gives "a program with weft_main reads the pipe too" expected program
closed_without() { weft run -q wordcount <&-; }
fails_with "without INPUT and with standard input closed there is no input" 2 'no input is given' closed_without

fails_with "- twice is wrong usage" 2 'twice|once|-' from small wordcount - -
closed() { weft run -q wordcount - <&-; }
fails_with "a closed stdin is an error that says so" '1|2' 'closed' closed

# A writer that never ends, and a reader that has gone: nothing is worth waiting for.
sleep 600 >fifo &
writer=$!
abandoned() { timeout 60 "$WEFT" run -q grep x - <fifo | true && return "${PIPESTATUS[0]}"; }
check "a run whose answer nobody reads does not wait for its input" abandoned
kill $writer

finish
