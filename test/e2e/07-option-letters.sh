#!/bin/bash
# After JOB a letter that the job defines is the job's; before JOB, or written long, it is weft's.
. "$(dirname "$0")/lib.sh"

printf '10\n9\n1\n' >numbers
printf '1\n9\n10\n' >ascending
printf '10\n9\n1\n' >descending
printf '1\n10\n9\n' >by-bytes

gives "sort -n is sort's" ascending answer sort -n numbers
gives "sort -n -r is sort's" descending answer sort -n -r numbers
gives "-n 2 before the job is the number of slots" by-bytes answer -n 2 sort numbers
gives "-n2 before the job is the number of slots" by-bytes answer -n2 sort numbers
gives "--slots after the job is the number of slots" by-bytes answer sort --slots 2 numbers
gives "both at once" ascending answer -n 2 sort -n numbers
gives "--slots=2 with sort -n behind the input" ascending answer sort numbers -n --slots=2
gives "the job's letters may stand behind the input" descending answer sort numbers -nr

printf 'a b\nb\n' >words
printf 'b\n' >only-v
gives "grep -v is grep's" only-v answer grep -v a words
try weft run -v grep a words
check "-v before the job is weft's" [ "$code:$(cat "$out")" = "0:a b" ]
try weft run grep --verbose a words
check "--verbose after the job is weft's" [ "$code:$(cat "$out")" = "0:a b" ]
printf 'b\nb\n' >only-o
gives "grep -o is grep's" only-o answer grep -o b words
check "-o before the job is the output" answer -o out1 grep b words
same "and the answer is in it" words out1
check "--output after the job is the output" answer grep b words --output out2
same "and the answer is in it too" words out2
check "grep -o with --output goes together" answer grep -o b words --output=out3
same "and the matches are in it" only-o out3

printf 'a\t1\nb\t2\n' >counts
try weft run wordcount -v words
check "-v after a job that has no -v is weft's" [ "$code" = 0 ]
same "and the answer is the same" counts "$out"
check "-o after a job that has no -o is the output" answer wordcount words -o out4
same "and the answer is in that file" counts out4
gives "-n after a job that has no -n is the number of slots" counts answer wordcount -n 1 words
gives "-q after the job" counts weft run wordcount -q words
gives "letters may share a dash" descending answer sort -nr numbers
gives "an option's value may stick to its letter" by-bytes answer -n1 sort numbers

# A letter of both, where weft's takes a value and the job's does not: the word behind it could be that value.
# Then nothing is guessed, as an output that is read as an input, or the reverse, loses data.
printf 'precious\n' >out5
cp out5 kept
ambiguous() { fails_with "$1" 2 'two ways' weft run -q "${@:2}"; }
ambiguous "grep PATTERN FILE -o OUT is asked, not guessed" grep b words -o out5
says "and told how to write there" '--output out5'
says "and how to mean grep's" '-o -- out5'
ambiguous "grep PATTERN -o OUT from a pipe" grep b -o out5
ambiguous "grep FILE... in one cluster" grep b words -io out5
ambiguous "grep -e PATTERN -o OUT" grep -e b -o out5
ambiguous "grep PATTERN FILE -n 4" grep b words -n 4
ambiguous "sort FILE -n 4" sort numbers -n 4
ambiguous "sort -n 4 FILE" sort -n 4 numbers
same "the file that was named is as it was" kept out5
gives "what -- says is grep's" only-o answer grep b -o -- words
gives "-o in front of the pattern is grep's" only-o answer grep -o b words
gives "-o at the end is grep's" only-o answer grep b words -o
gives "-o before another option is grep's" only-o answer grep b -o -i words
gives "sort -n FILE is sort's" ascending answer sort -n numbers
check "sort FILE -o OUT is the output, as sort's would be" answer sort -n numbers -o out6
same "and the answer is in that one" ascending out6
cp numbers 7
gives "./7 is a file, and -n sort's" ascending answer sort -n ./7
compile letters
ambiguous_program() { ./letters -q "$@"; }
fails_with "a program's own letter is asked about, too" 2 'two ways' ambiguous_program words -o out5
gives "and a program's own letter is its own" words ambiguous_program -o -- words

printf 'x\n' >./-x
printf 'x\t1\n' >expected
gives "behind -- all are inputs" expected answer wordcount -- -x
gives "./ makes a file of a name with a dash" expected answer wordcount ./-x

finish
