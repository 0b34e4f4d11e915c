#!/bin/bash
# -o DIR/: part files, a manifest with checksums, _SUCCESS last; the parts in order are FILE.
. "$(dirname "$0")/lib.sh"

generate words 6000000 211 >text
oracle words text >counts
sort text >sorted
grep -aE 'b' text >matches

joined() { cat "$1"/part-*; }

check "-o DIR/ succeeds" answer wordcount text -o counts.d/
check "_SUCCESS is there" [ -f counts.d/_SUCCESS ]
check "there is a part" eval 'ls counts.d/part-*'
manifest=$(find counts.d -maxdepth 1 -iname '*manifest*')
check "there is a manifest" [ -n "$manifest" ]
joined counts.d >actual
same "the parts in order are the answer" counts actual
check "there is nothing else" [ "$(find counts.d -mindepth 1 | wc -l)" = $(($(find counts.d -name 'part-*' | wc -l) + 2)) ]
check "the directory has the mode any new one has" [ "$(stat -c %a counts.d)" = "$(printf '%o' $((0777 & ~0$(umask))))" ]
for part in counts.d/part-*; do
    check "the manifest names $(basename "$part")" grep -q "$(basename "$part")" "$manifest"
    check "and its size" grep -qw "$(stat -c %s "$part")" "$manifest"
done

check "weft verify finds it sound" weft verify counts.d/
cp -r counts.d copy.d && first=$(find copy.d -name 'part-*' | sort | head -n 1)
check "a copy too" weft verify copy.d
printf X | dd of="$first" bs=1 seek=10 conv=notrunc 2>/dev/null
fails_with "weft verify finds a changed byte, and names the part" 1 "$(basename "$first")" weft verify copy.d
cp "counts.d/$(basename "$first")" "$first" && truncate -s -1 "$first"
fails_with "weft verify finds a missing byte" 1 "$(basename "$first")" weft verify copy.d
rm "$first"
fails_with "weft verify finds a missing part" '1|4' "$(basename "$first")" weft verify copy.d
cp "counts.d/$(basename "$first")" copy.d/ && rm copy.d/_SUCCESS
fails_with "weft verify finds an output that is not finished" '1|4' '_SUCCESS|finished|complete' weft verify copy.d
fails_with "weft verify of nothing" 4 'nowhere' weft verify nowhere/
rm -rf copy.d

for reducers in 1 2 3 8 50; do
    rm -rf d
    check "--reducers $reducers" answer wordcount text --reducers $reducers -o d/
    check "gives $reducers parts" [ "$(find d -name 'part-*' | wc -l)" = $reducers ]
    joined d >actual
    same "which are the answer in order" counts actual
    answer wordcount text --reducers $reducers >actual
    same "as it is on stdout" counts actual
done
rm -rf d && check "more parts than keys" eval 'printf "b a\n" | answer wordcount - --reducers 5 -o d/'
joined d >actual && printf 'a\t1\nb\t1\n' >expected
same "some of them empty" expected actual
check "but five" [ "$(find d -name 'part-*' | wc -l)" = 5 ]

answer sort text --reducers 7 -o sorted.d/ && joined sorted.d >actual
same "sort: the parts in order are the sorted file" sorted actual
check "sort: the parts share the work" eval '[ "$(find sorted.d -name "part-*" -size +100k | wc -l)" -ge 4 ]'
sort -r text >expected
answer sort -r text --reducers 3 -o reverse.d/ && joined reverse.d >actual
same "sort -r: the parts in order are the file sorted backwards" expected actual
sort -t' ' -k2,2n -k1,1 text >expected
answer sort -t' ' -k2,2n -k1,1 text --reducers 3 -o keyed.d/ && joined keyed.d >actual
same "sort -k: the parts in order are the file sorted by key" expected actual
answer grep b text --output grep.d/ && joined grep.d >actual
same "grep: the parts in order are the matches in input order" matches actual
answer grep b text --reducers 4 --output grep4.d/ && joined grep4.d >actual
same "grep: with any number of parts" matches actual
oracle index text >expected
answer index text --reducers 4 -o index.d/ && joined index.d >actual
same "index: the parts in order are the index" expected actual
: >nothing
check "an empty input" answer wordcount nothing -o nothing.d/
check "has a _SUCCESS too" [ -f nothing.d/_SUCCESS ]
joined nothing.d >actual && same "and nothing in its parts" nothing actual

for slots in 1 2 5; do
    for memory in 16M 256M; do
        rm -rf d && answer -n $slots --memory $memory sort text --reducers 7 -o d/
        (cd d && cksum part-* && cksum "$(basename "$manifest")") >actual.$slots.$memory
    done
done
(cd sorted.d && cksum part-*) >expected
check "the parts are the same for any slots and memory" eval '
    for f in actual.*; do grep part- "$f" | cmp expected - || exit 1; done'
check "so is the manifest" eval '[ "$(cat actual.* | grep -v part- | sort -u | wc -l)" = 1 ]'

cksum counts.d/* >before
fails_with "an existing directory is refused" 5 'counts.d' weft run sort text -o counts.d/
cksum counts.d/* >after
same "and stays as it was" before after
fails_with "without the slash too" 2 'counts.d' weft run sort text -o counts.d
fails_with "a failing job with --force" 4 'missing' weft run sort missing -o counts.d/ --force
cksum counts.d/* >after
same "leaves the old directory" before after
echo mine >counts.d/letter
fails_with "an output to which a stranger was added is not replaced" 5 'letter|counts.d' \
    weft run sort text -o counts.d/ --force
rm counts.d/letter
check "--force replaces it" answer sort text -o counts.d/ --reducers 2 --force
joined counts.d >actual
same "with the new answer" sorted actual
check "and none of the old parts" [ "$(find counts.d -name 'part-*' | wc -l)" = 2 ]
mkdir mine && echo precious >mine/letter
fails_with "a directory with other files is refused" 5 'mine' weft run sort text -o mine/
fails_with "even with --force" 5 'mine' weft run sort text -o mine/ --force
check "and keeps them" [ "$(cat mine/letter)" = precious ]
mkdir bare
fails_with "an empty directory is refused too" 5 'bare' weft run wordcount text -o bare/
check "without --force" answer wordcount text -o bare/ --force
check "which fills it" [ -f bare/_SUCCESS ]
echo file >plain
fails_with "a file is not a directory" 5 'plain' weft run sort text -o plain/
fails_with "a directory in a missing one" 4 'nowhere' weft run sort text -o nowhere/d/
check "no hidden leftovers beside the outputs" eval '! ls -A | grep -E "^\."'

finish
