#!/bin/bash
# Large files are split; no line is lost, doubled or cut where two splits meet.
. "$(dirname "$0")/lib.sh"

# lines WIDTH BYTES: lines of exactly WIDTH bytes with their end, so that line ends fall on, before
# or behind every power of two.
lines() {
    awk -v width="$1" -v bytes="$2" 'BEGIN {
        for (n = 0; n * width < bytes; n++) printf "%0" width - 1 "d\n", n }'
}

for width in 63 64 65 4096 65536 1048576 1048575 1048577; do
    lines $width 20000000 >wide
    gives "lines of $width bytes come through in order" wide answer -n 3 grep '' wide
    gives "lines of $width bytes sort" wide answer -n 3 --memory 48M sort wide
done

# Words that lie across the ends of splits, and files that end just there.
head -c 33554432 /dev/zero | tr '\0' 'x' | fold -w 1000 >wide
awk 'END { print NR }' wide >expected
gives "thirty-two MiB of one long word a line" expected answer grep -c x wide
for size in 1048575 1048576 1048577 4194303 4194304 4194305 16777216 16777217; do
    generate words $size $size | head -c $size >cut
    { cat cut && [ -n "$(tail -c 1 cut | tr -d '\n')" ] && echo; } >expected
    gives "a file of $size bytes comes through" expected answer -n 2 grep '' cut
    tr -s ' \n' '\n\n' <cut | grep -c . >expected
    answer wordcount cut | awk -F '\t' '{ n += $2 } END { print n }' >actual
    same "and all its words are counted" expected actual
done
head -c 20000000 /dev/zero | tr '\0' '\n' >newlines
gives "twenty million empty lines" newlines answer grep '' newlines
printf '\t20000000\n' >expected
gives "are counted" expected answer count newlines
head -c 20000000 /dev/zero | tr '\0' ' ' >blanks
: >nothing
gives "twenty megabytes of blanks have no word" nothing answer wordcount blanks

finish
