#!/bin/bash
# sort: the lines as `LC_ALL=C sort` prints them, with its options -k -t -n -r -u.
. "$(dirname "$0")/lib.sh"

# as_sort SENTENCE FILE OPTION...: weft run sort and sort print the same.
as_sort() {
    local sentence=$1 file=$2
    shift 2
    sort "$@" "$file" >expected || exit 1
    gives "$sentence" expected answer sort "$@" "$file"
}

printf 'b\na\nC\n\na\n' >small
as_sort "lines come in byte order, equal ones stay" small
printf 'b\na' >no-end
as_sort "a last line without an end gets one" no-end
: >nothing
as_sort "nothing sorted is nothing" nothing
printf 'a\0b\na\0a\na\n\0\n\xff\n' >zeros
as_sort "NUL and high bytes sort as bytes" zeros

generate table 3000 31 >table
while read -r options; do
    # shellcheck disable=SC2086
    as_sort "sort $options" table $options
done <<'OPTIONS'
-r
-u
-n
-n -r
-nr
-n -u
-nru
-r -u
-k2
-k 2
-k2,2
-k2,2 -k1,1
-k2,2 -u
-k2n
-k2nr
-k2,2n
-k2,2nr -k1,1r
-k 2,2n -k 1,1
-k2 -n
-k2 -r
-k2 -n -r -u
-k1,1n -k3,3r
-k2b,2
-k2b,2b -k3b,3n
-k1.2
-k1.2,1.3
-k2.2b,2.3b
-k2.1,3.0
-k3,2
-k1,1r -k2,2 -u
-k9
-k2,2r
-k2,2r -r
-t,
-t, -k2
-t, -k2,2
-t, -k2,2n
-t , -k 2,2 -k 1,1n
-t, -k2.2,2.3
-t, -k2,2 -u
-t: -k1,1 -k2,2nr
-t: -k2,3
-t, -k1,1 -u -r
-t: -k3n -r
OPTIONS
as_sort "sort -t TAB -k2,2" table -t $'\t' -k2,2
as_sort "sort -t SPACE -k2,2n" table -t ' ' -k2,2n
as_sort "sort -t '\\0' -k2,2" zeros -t '\0' -k2,2

# -u without a key and with one: the first line of a group in input order is the one that stays.
printf 'x 2 first\ny 1 first\nx 2 second\ny 1 second\nz 2 third\n' >groups
as_sort "-u with a key keeps the first of a group in input order" groups -k2,2n -u
printf '1.0\n1\n01\n' >ones
as_sort "-u -n keeps the first of equal numbers" ones -n -u
for n in 1 2 3; do printf 'same %s\n' $n; done >part1
for n in 4 5 6; do printf 'same %s\n' $n; done >part2
sort -k1,1 -u part2 part1 >expected
gives "-u keeps the first of the first file given" expected answer sort -k1,1 -u part2 part1

generate lines 400000 32 >distinct
as_sort "400,000 random lines" distinct
as_sort "400,000 random lines, backwards" distinct -r
generate spots 300000 33 >spots
as_sort "300,000 lines with many equal ones, once each" spots -u
as_sort "300,000 lines by the number behind the dash" spots -t- -k2,2n
generate bytes 3000000 34 >random
as_sort "lines of random bytes" random
as_sort "lines of random bytes, once each, backwards" random -r -u
seq 1 200000 | awk '{ print ($1 * 7919) % 200000 - 100000 }' >numbers
as_sort "200,000 numbers" numbers -n
as_sort "200,000 numbers, largest first" numbers -n -r
# A shared start longer than any prefix an implementation may compare first.
awk 'BEGIN { for (i = 0; i < 20000; i++) { s = sprintf("%d", (i * 7919) % 20000);
    printf "%s%s\n", "a common beginning of forty bytes or more ", s } }' >prefixes
as_sort "lines with a long common beginning" prefixes
sort small no-end table >expected
gives "several files are sorted into one" expected answer sort small no-end table

fails_with "-k 0 is wrong usage" 2 "k" weft run sort -k 0 small
fails_with "-k x is wrong usage" 2 "k" weft run sort -k x small
fails_with "-t with two characters is wrong usage" 2 "t" weft run sort -t ab small
fails_with "-t with nothing is wrong usage" 2 "t" weft run sort -t '' small

finish
