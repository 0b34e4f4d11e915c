#!/bin/bash
# A key of 1 GiB, and ten million keys from one record.
# takes long
. "$(dirname "$0")/lib.sh"

compile huge
echo one >line
free_mib=$(awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo)

try weft run --memory 64M --timeout 60s ./huge -k 1073741824 line
check "a key of 1 GiB does not fit into 64M" [ "$code" = 5 ]
says "it says so" 'key|1 ?GiB|1073741824|memory|RESOURCE_EXHAUSTED'
says "it names the input" 'line'
check "and prints nothing" [ ! -s "$out" ]
try weft run --memory 16M --timeout 60s ./huge -k 20000000 line
check "a key of 20 MB does not fit into 16M" eval '[ $code = 5 ] || { [ $code = 0 ] && [ $(wc -c <"$out") = 20000003 ]; }'
head -c 1000000 /dev/zero >expected && printf '\t1\n' >>expected
gives "a key of 1 MB fits into 64M" expected weft run --memory 64M ./huge -k 1000000 line
head -c 16777216 /dev/zero >expected && printf '\t1\n' >>expected
gives "a key of 16 MiB fits into 512M" expected weft run --memory 512M ./huge -k 16777216 line
if is_long && [ "$free_mib" -ge 16000 ]; then
    { head -c 1073741824 /dev/zero && printf '\t1\n'; } | cksum >expected
    giant() { weft run --memory 7G ./huge -k 1073741824 line | cksum; }
    gives "a key of 1 GiB fits into 7G, or is refused" expected giant
else
    skip "a key of 1 GiB fits into 7G" "only with WEFT_LONG=1 and 16 GB of free memory"
fi

seq -w 0 9999999 | awk '{ printf "0%s\t3\n", $1 }' >expected
try corral -m "$dir/peak" -l "$left" -- "$WEFT" run --memory 64M ./huge -c 10000000 line
check "ten million keys from one record succeed in 64M" [ "$code" = 0 ]
same "and none is lost" expected "$out"
is_sanitized || check "inside the promise" [ "$(cat "$dir/peak")" -le $((64 * 1024 * 11 / 10)) ]

finish
