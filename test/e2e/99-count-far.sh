#!/bin/bash
# The cluster of examples/count on ssh hosts and as jobs of Slurm: the same program, and the same total as here.
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "examples/count on other machines" slurm

library=$(dirname "$WEFT")/libweft.a
if ! cc -I"$root/include" "$root/examples/count.c" "$library" -o count -luv -lprotobuf-c -ljansson -lz -lzstd -llz4 -llzma -lbz2 -ldl -lm -lpthread 2>"$err"; then
    skip "examples/count on other machines" "it cannot be linked with $library"
    finish
fi
export WEFT_TOKEN=000102030405060708090a0b0c0d0e0f
files=() total=0
for i in $(seq 1 20); do
    words=$((7 * i % 31 + 1)) total=$((total + words))
    yes word | head -n "$words" >"file$i.txt"
    echo "file$i.txt" >>filenames.txt
    files+=(--file "map:file$i.txt")
done
fresh_slurm 2

for url in ssh://h1,h2 slurm:; do
    try weft cluster run --on $url --role files=1 --role map=3 --role reduce=1 --file files:filenames.txt "${files[@]}" ./count
    check "count in C on $url ends with 0" is "$code" 0
    check "and its total is exact" is "$(sed -n 's|^reduce/0| |p' "$out" | tail -n 1)" " | $total words so far"
    check "all files are counted, by all of map" is "$(grep -c '^map/[0-2] *| [0-9]* words in file' "$out")" 20
    nothing_left_on_hosts "and nothing is left on a host"
done
check "and nothing in the queue of Slurm" is "$(squeue -h)" ""
finish
