#!/bin/bash
# index: `word TAB file TAB file ...`, words by their bytes, files in sorted order.
. "$(dirname "$0")/lib.sh"

mkdir texts
printf 'red green\nred' >texts/b.txt
printf 'green blue\n' >texts/a.txt
printf 'green\n' >texts/B.txt
printf 'blue\ttexts/a.txt\ngreen\ttexts/B.txt\ttexts/a.txt\ttexts/b.txt\nred\ttexts/b.txt\n' >expected
gives "each word with the files it is in, each file once" expected \
    answer index texts/b.txt texts/a.txt texts/B.txt
gives "the order of the inputs does not matter" expected \
    answer index texts/B.txt texts/b.txt texts/a.txt
gives "a directory gives its files" expected answer index texts
gives "a slash at the end of a directory changes nothing" expected answer index texts/
gives "a file given twice is one file" expected answer index texts texts/a.txt
gives "a glob gives its files" expected answer index 'texts/*.txt'

: >texts/empty.txt
gives "an empty file is in no list" expected answer index texts

printf 'x\0y \xff x\0y\n' >texts/bytes
oracle index texts/* >expected
gives "any bytes make a word" expected answer index texts

mkdir many
for i in $(seq 1 300); do echo "common word$((i % 7)) only$i" >"many/f$i"; done
oracle index many/* >expected
gives "a word in three hundred files" expected answer index many

mkdir big
for i in 1 2 3 4; do generate words 3000000 5$i >big/text$i; done
oracle index big/* >expected
gives "words of larger files, far apart" expected answer index big
gives "the same in little memory" expected answer --memory 16M index big

finish
