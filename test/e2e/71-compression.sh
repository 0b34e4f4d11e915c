#!/bin/bash
# Compressed inputs are told by their content and read as if they were plain; compressed outputs are what the
# real tools read. Damaged files are told with their name and the place.
# takes long
. "$(dirname "$0")/lib.sh"
formats() { python3 "$e2e/tools/formats.py" "$@"; }
has() { command -v "$1" >/dev/null; }
compile record_places || exit 1

# pack KIND: stdin to stdout by the real tool, or by python where there is none.
pack() {
    case $1 in
    gzip) gzip -c ;;
    bzip2) if has bzip2; then bzip2 -c; else
        python3 -c 'import bz2, sys; sys.stdout.buffer.write(bz2.compress(sys.stdin.buffer.read()))'; fi ;;
    xz) if has xz; then xz -c; else
        python3 -c 'import lzma, sys; sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read()))'; fi ;;
    *) "$1" -q -c ;;
    esac
}
unpack() { # KIND: the same back
    case $1 in
    gzip) gzip -dc ;;
    *) "$1" -q -dc ;;
    esac
}
kinds=(gzip)
for kind in zstd lz4 bzip2 xz; do
    if has $kind || [ $kind = bzip2 ] || [ $kind = xz ]; then kinds+=("$kind"); else skip "$kind" "no $kind here"; fi
done

generate words 2500000 1 >words
head -c 1000000 words >first
tail -c +1000001 words >second
answer wordcount words >counted
answer sort words >sorted
answer grep -c e words >matching
answer count words >lines
./record_places words >places 2>/dev/null

# --- inputs -----------------------------------------------------------------------------------------

for kind in "${kinds[@]}"; do
    pack "$kind" <words >packed
    gives "$kind: wordcount" counted answer wordcount packed
    gives "$kind: sort" sorted answer --memory 32M -n 3 sort packed
    gives "$kind: grep" matching answer grep -c e packed
    gives "$kind: count" lines answer count packed
    answer ./record_places packed | sed 's/^packed/words/' >actual
    same "$kind: records know their place in the plain text" places actual
    { pack "$kind" <first && pack "$kind" </dev/null && pack "$kind" <second; } >members
    gives "$kind: one behind the other" sorted answer sort members
    gives "$kind: from a pipe" counted answer wordcount - <members
    printf 'a\nb' | pack "$kind" >small
    printf 'a\nb\n' >expected
    gives "$kind: a small one" expected answer grep '' small
    yes weft | head -n 200000 | pack "$kind" >repeated # a small file that holds much
    printf '200000\n' >expected
    gives "$kind: one that is much larger than it looks" expected answer grep -c weft repeated
    pack "$kind" </dev/null >empty
    : >expected
    gives "$kind: an empty one" expected answer sort empty
    printf 'empty:1:0:\n' >expected
    gives "$kind: an empty file is a record of no bytes" expected \
        answer ./record_places --format files empty
    mkdir -p mixed
    cp packed mixed/a.$kind
done
cp words mixed/plain
for _ in "${kinds[@]}" plain; do cat words; done | answer wordcount - >expected
gives "many kinds side by side" expected answer wordcount mixed

cp words plain.gz
gives "a name that says gzip means nothing" counted answer wordcount plain.gz
gzip -c words >gzip.txt
gives "nor does one that does not" counted answer wordcount gzip.txt

# --- splits -----------------------------------------------------------------------------------------

tasks() { weft run --json wordcount "$1" 2>&1 >/dev/null | jsonlines -g "$2"; }
generate lines 200000 5 >lines32
answer sort lines32 >expected
formats bgzip lines32 blocked.gz
check "python reads what we call bgzip" python3 -c 'import gzip, sys
sys.exit(gzip.open("blocked.gz").read() != open("lines32", "rb").read())'
gives "bgzip: sort" expected answer -n 3 sort blocked.gz
check "bgzip is read by several tasks" test "$(tasks blocked.gz map_tasks)" -gt 3
check "and counts as split" test "$(tasks blocked.gz unsplit_inputs)" = 0
./record_places -q lines32 | sed 's/^lines32/blocked.gz/' >expected
gives "bgzip: records know their place" expected answer -n 3 ./record_places blocked.gz
gzip -c lines32 >whole.gz
check "gzip is read by one" test "$(tasks whole.gz map_tasks)" = 1
check "and counts as not split" test "$(tasks whole.gz unsplit_inputs)" = 1
try weft run wordcount whole.gz -o out
says "the summary says so" 'could not be split \(gzip\)'
if has zstd; then
    formats seekable lines32 seekable.zst
    check "zstd reads what we call seekable" cmp lines32 <(zstd -q -dc seekable.zst)
    answer sort lines32 >expected
    gives "seekable zstd: sort" expected answer -n 3 sort seekable.zst
    check "seekable zstd is read by several tasks" test "$(tasks seekable.zst map_tasks)" -gt 3
fi
formats make csv 6000000 3 >table
formats bgzip table table.gz
formats places csv:header table | sed 's/^table:/table.gz:/' >expected
gives "csv in bgzip is split" expected answer -n 3 ./record_places --format csv:header table.gz

# --- damaged ----------------------------------------------------------------------------------------

for kind in "${kinds[@]}"; do
    pack "$kind" <words >packed
    size=$(stat -c %s packed)
    head -c $((size / 2)) packed >cut.$kind
    fails_with "$kind: cut off" 1 "cut\.$kind.*(byte|offset) [0-9]+" weft run wordcount cut.$kind -o out2
    { head -c $((size / 2)) packed && printf '\252\125\252\125' && tail -c +$((size / 2 + 5)) packed; } >bad.$kind
    fails_with "$kind: damaged" 1 "bad\.$kind.*(byte|offset) [0-9]+" weft run sort bad.$kind -o out2
    check "$kind: no output is left" test ! -e out2
    { cat packed && echo garbage; } >behind.$kind
    try answer wordcount behind.$kind
    check "$kind: what follows is not passed over in silence" test "$code" = 1
done
head -c $(($(stat -c %s blocked.gz) / 2)) blocked.gz >cut.bgz
fails_with "bgzip: cut off" 1 "cut\.bgz" weft run wordcount cut.bgz -o out2

# --- outputs ----------------------------------------------------------------------------------------

for kind in gzip zstd lz4; do
    has $kind || { skip "--compress $kind" "no $kind here"; continue; }
    suffix=$(case $kind in gzip) echo .gz ;; zstd) echo .zst ;; lz4) echo .lz4 ;; esac)
    answer --compress $kind sort words -o sorted$suffix
    unpack $kind <sorted$suffix >actual
    same "--compress $kind to a file" sorted actual
    answer --compress $kind -n 3 --memory 16M sort words >piped
    same "$kind: the same bytes for other slots and memory, and on stdout" sorted$suffix piped
    gives "$kind: we read it ourselves" counted answer wordcount sorted$suffix
    answer --compress $kind --reducers 3 sort words -o dir-$kind/
    check "$kind: parts have its suffix" test -e dir-$kind/part-00002$suffix
    cat dir-$kind/part-* | unpack $kind >actual
    same "$kind: parts one behind the other" sorted actual
    check "$kind: weft verify" weft verify dir-$kind/
    answer --compress $kind grep e words | unpack $kind >actual
    grep e words >expected
    same "$kind: a job without a reducer" expected actual
    answer --compress $kind grep 'no such line' words >none
    unpack $kind <none >actual
    check "$kind: an empty answer is a valid file" test -s none -a ! -s actual
    answer --compress $kind --reducers 4 sort <(printf 'a\n') -o few-$kind/
    cat few-$kind/part-0000?$suffix | unpack $kind >actual
    for part in few-$kind/part-0000?$suffix; do $kind -q -t $part || echo $part; done >>actual 2>&1
    printf 'a\n' >expected
    same "$kind: so is every empty part" expected actual
    fails_with "$kind: what exists is not replaced" 5 'exists' weft run --compress $kind sort words -o sorted$suffix
    answer --compress $kind count words -o sorted$suffix --force
    unpack $kind <sorted$suffix >actual
    same "$kind: but with --force it is" lines actual
    answer --compress $kind --output-format jsonl wordcount words | unpack $kind | jsonlines -s >/dev/null
    check "$kind: of jsonl" test "${PIPESTATUS[*]}" = "0 0 0"
done
# What is known and not read is refused by name, not counted as words.
refuse() { # WORDS NAME
    fails_with "$2 is refused by name" '1|2' "$1, which is not read" weft run wordcount "$2"
    says "with what unpacks it" "try: .* $2 \| weft run JOB -"
}
python3 -c 'import zipfile; zipfile.ZipFile("a.zip", "w").write("first")' && refuse 'a zip archive' a.zip
python3 -c 'import lzma; open("a.lzma", "wb").write(lzma.compress(open("first", "rb").read(), lzma.FORMAT_ALONE))'
refuse 'compressed by lzma' a.lzma
printf '7z\274\257\047\034\0\4aaaaaaaaaaaa' >a.7z && refuse 'a 7z archive' a.7z
printf 'Rar!\032\007\001\0aaaaaaaaaaaa' >a.rar && refuse 'a rar archive' a.rar
printf '\037\235\220aaaaaaaaaaaaaaaaaa' >a.Z && refuse 'compressed by compress .*' a.Z
printf '\377\006\0\0sNaPpY\0\0\0\0aaaa' >a.sz && refuse 'framed format of snappy' a.sz
printf '\0\0\0\012\0\0\0\014\012\044aaaaaaaaaa' >a.snappy && refuse 'snappy, as Hadoop does it' a.snappy
printf '\211LZO\0\r\n\032\n\020\100aaaaaa' >a.lzo && refuse 'compressed by lzop' a.lzo
printf '\013\002\200hello\n\003' >a.br && refuse 'compressed by brotli' a.br
cp first text.br
gives "a name alone is no reason" <(answer wordcount first) answer wordcount text.br
fails_with "from a pipe too" '1|2' 'zip archive' weft run wordcount - <a.zip
fails_with "with what can read a pipe" '1|2' 'try: funzip' weft run wordcount - <a.zip
{ cat a.zip && head -c 70000000 /dev/zero; } >large.zip
fails_with "a large one is refused before any work" '1|2' 'zip archive' weft run wordcount large.zip
rm large.zip
check "a job that wants whole files gets them" answer ./record_places --format files a.zip

tar -cf a.tar first && fails_with "a tar archive is refused by name" '1|2' 'a.tar is a tar archive.*' weft run wordcount a.tar
says "with what unpacks it" 'try: tar -xf a.tar'
fails_with "also by sort" '1|2' 'a tar archive' weft run sort a.tar
gzip -c a.tar >a.tar.gz && fails_with "also when it is compressed" '1|2' 'a.tar.gz is a tar archive' weft run wordcount a.tar.gz
check "a job that wants whole files gets it" answer ./record_places --format files a.tar

# bgzip ends a file with a mark.
formats bgzip first whole.gz
try weft run wordcount whole.gz
check "a bgzip file with its end mark is no reason to warn" eval '[ "$code" = 0 ] && ! grep -q "end mark" "$err"'
head -c -28 whole.gz >cut.gz
try weft run wordcount cut.gz
check "without it it is read" [ "$code" = 0 ]
says "and told" 'cut.gz has no end mark'

fails_with "bzip2 is only read" 2 'zstd, gzip' weft run --compress bzip2 sort words
fails_with "so is xz" 2 'zstd, gzip' weft run --compress xz sort words
fails_with "a codec that is none" 2 'zstd, gzip' weft run --compress rar sort words
finish
