#!/bin/bash
# What does not fit is spilled to --tmp, which is never a tmpfs and always left clean.
. "$(dirname "$0")/lib.sh"

generate lines 1200000 331 >distinct # 40 MB
sort distinct >expected
mkdir spill

try weft run --json --memory 16M --tmp spill sort distinct
check "a sort that does not fit succeeds" [ "$code" = 0 ]
same "with the right answer" expected "$out"
spilled=$(jsonlines -g spill_bytes <"$err")
check "the summary says how much was spilled" [ "${spilled:-0}" -gt 10000000 ]
check "the spill directory is clean" [ -z "$(ls -A spill)" ]

try weft run --json --memory 1G --tmp spill sort distinct
same "a sort that fits has the same answer" expected "$out"
spilled=$(jsonlines -g spill_bytes <"$err")
check "and spills nothing" [ "${spilled:-x}" = 0 ]

# Something must be in the directory while it runs, by name or as an open file without one.
corral -l "$left" -- "$WEFT" run -q --memory 16M --tmp "$PWD/spill" sort distinct >actual &
seen=no
for _ in $(seq 1 200); do
    if [ -n "$(ls -A spill)" ] ||
        [ -n "$(find /proc/[0-9]*/fd -lname "$PWD/spill/*" 2>/dev/null | head -n 1)" ]; then
        seen=yes
        break
    fi
    sleep 0.02
done
wait
check "it is --tmp that is spilled to" [ $seen = yes ]
same "and the answer is right" expected actual
TMPDIR=$PWD/spill answer --memory 16M sort distinct >actual
same "TMPDIR is taken without --tmp" expected actual

memory_disk=
for candidate in /dev/shm /run/lock /run; do
    [ -w $candidate ] && is_memory_disk $candidate && memory_disk=$candidate && break
done
if [ -n "$memory_disk" ]; then
    fails_with "a tmpfs is refused, by name" 2 "tmpfs|memory" \
        weft run --memory 16M --tmp $memory_disk sort distinct
    says "and the way out is told" '--tmp'
    input=$(mktemp "$memory_disk/weft-spill.XXXXXX")
    seq 3000000 >"$input"
    sort "$input" >sorted_numbers
    answer -n 2 --memory 32M --tmp spill sort "$input" >actual
    rm -f "$input"
    same "an input there does not count as memory of the job" sorted_numbers actual
else
    skip "a tmpfs is refused, by name" "there is none to write to"
fi
fails_with "a spill directory that is missing is an error" 4 'nowhere' \
    weft run --memory 16M --tmp nowhere sort distinct
fails_with "a spill directory that is a file is an error" '2|4|5' 'expected' \
    weft run --memory 16M --tmp expected sort distinct
check "the spill directory is clean at the end" [ -z "$(ls -A spill)" ]

finish
