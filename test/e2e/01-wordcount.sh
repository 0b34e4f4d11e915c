#!/bin/bash
# wordcount: words are maximal runs of bytes that are not ASCII white space.
. "$(dirname "$0")/lib.sh"

printf 'the cat\nThe  dog the\n' >small
printf 'The\t1\ncat\t1\ndog\t1\nthe\t2\n' >expected
gives "it prints word TAB count, sorted by the word's bytes" expected answer wordcount small
printf 'cat\t1\ndog\t1\nthe\t3\n' >expected
gives "-i folds ASCII case" expected answer wordcount -i small

printf 'a b\tc\nd\ve\ff\rg\r\nh' >blanks
for letter in a b c d e f g h; do printf '%s\t1\n' $letter; done >expected
gives "blank is each of space, tab, newline, vertical tab, form feed, return" expected \
    answer wordcount blanks

# Python's str.split() would cut at these; bytes.split() does not.
printf 'a\x1cb\x1db\x1eb\x1fb\x85b\xa0b\n' >controls
printf 'a\x1cb\x1db\x1eb\x1fb\x85b\xa0b\t1\n' >expected
gives "no other byte is blank" expected answer wordcount controls

printf '\0\n\0\0 \0\na\0b a\0b a\n' >zeros
oracle words zeros >expected
gives "NUL is a byte of a word like any other" expected answer wordcount zeros

printf '\xff\xfe \xc3 \xc3\xa4 \xe4 \xff\xfe\n' >latin
oracle words latin >expected
gives "invalid UTF-8 passes through" expected answer wordcount latin
printf '\xc3\x84 \xc3\xa4 \xc4 \xe4 Z z\n' >umlauts
oracle words -i umlauts >expected
gives "-i leaves bytes beyond ASCII alone" expected answer wordcount -i umlauts
printf '@ A [ ` a { Z z\n' >edges
oracle words -i edges >expected
gives "-i folds A to Z and not their neighbours" expected answer wordcount -i edges

: >nothing
gives "an empty file has no words" nothing answer wordcount nothing
printf ' \n\t\n   ' >only-blanks
gives "blanks alone are no words" nothing answer wordcount only-blanks
printf 'end' >no-end
printf 'end\t1\n' >expected
gives "a last line without an end counts" expected answer wordcount no-end
printf 'end' >first && printf 'start' >second
printf 'end\t1\nstart\t1\n' >expected
gives "words do not grow together across files" expected answer wordcount first second

# One word for each length around those where an implementation changes its ways.
for size in 1 2 7 8 9 15 16 17 31 32 33 63 64 65 127 128 255 256 257 4095 4096 65535 65536 70000; do
    for twin in a b; do
        head -c $((size - 1)) /dev/zero | tr '\0' x
        printf '%s ' $twin
    done
    echo
done >lengths
oracle words lengths >expected
gives "words of any length are counted" expected answer wordcount lengths
oracle words -i lengths >expected
gives "words of any length are counted with -i" expected answer wordcount -i lengths

# Keys that differ only in trailing NUL bytes, or in length: an eight-byte load must not join them.
printf 'a a\0 a\0\0 abcdefgh abcdefgh\0 abcdefg abcdefg\0 \0 \0\0 a a\0 abcdefg\0\n' >padding
oracle words padding >expected
gives "words that differ in trailing NUL bytes stay apart" expected answer wordcount padding

generate bytes 2000000 11 >random
oracle words random >expected
gives "two megabytes of random bytes are counted right" expected answer wordcount random
if command -v python3 >/dev/null; then
    python3 "$root/test/oracle/wordcount.py" <random >by-python
    same "Python's bytes.split() gives the same words" by-python expected
else
    skip "Python's bytes.split() gives the same words" "no python3 here"
fi
oracle words -i random >expected
gives "two megabytes of random bytes are counted right with -i" expected answer wordcount -i random

generate words 8000000 12 >text
oracle words text >expected
gives "eight megabytes of text are counted right" expected answer wordcount text
generate lines 400000 13 >distinct
oracle words distinct >expected
gives "four hundred thousand distinct words are counted right" expected answer wordcount distinct
cat text distinct >mixed
oracle words mixed >expected
gives "input that changes from few words to many is counted right" expected answer wordcount mixed
cat distinct text >mixed
gives "input that changes from many words to few is counted right" expected answer wordcount mixed

finish
