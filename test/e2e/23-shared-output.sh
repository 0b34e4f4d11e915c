#!/bin/bash
# Standard output that is not ours alone: messages, other runs and other programs write to the same file.
# also: asan
. "$(dirname "$0")/lib.sh"

generate lines 400000 231 >text
sort text >expected

seq -f 'line %.0f' 200000 | sort >few
both() { weft run --map "awk '{ print } NR % 5000 == 0 { print \"other\" >\"/dev/stderr\" }'" few -n 2 --lines-per-task 20000 >log 2>&1; }
check "a job that talks while it writes succeeds" both
grep -a '^line ' log | sort >log.sorted
same "2>&1 into one file loses no line of the answer" few log.sorted
check "nor of what the commands said" [ "$(grep -ac other log)" -ge 40 ]

talk() { weft run -v sort text >log 2>&1; }
check "-v into the same file succeeds" talk
check "-v into the same file loses nothing" eval '[ $(comm -23 expected <(sort log) | wc -l) = 0 ]'

(
    for _ in 1 2 3; do corral -l "$left" -- "$WEFT" run -q sort text & done
    wait
) >log
sort log >log.sorted
for _ in 1 2 3; do cat expected; done | sort >expected.three
same "three runs that share their standard output lose nothing" expected.three log.sorted
: >log
for _ in 1 2 3; do corral -l "$left" -- "$WEFT" run -q sort text >>log & done
wait
sort log >log.sorted
same "three runs that append to one file lose nothing" expected.three log.sorted

(
    (for i in $(seq 200); do echo "other $i" && sleep 0.002; done) &
    answer sort text
    wait
) >log
check "a program that writes beside loses nothing" [ "$(grep -ao 'other [0-9]*' log | sort -u | wc -l)" -ge 200 ]
# Its lines may come in the middle of one of ours, as with any two programs.
check "and takes nothing away" [ "$(stat -c %s log)" = $(($(stat -c %s expected) + $(seq 200 | sed 's/^/other /' | wc -c))) ]

{ echo before && answer sort text && echo after; } >log
{ echo before && cat expected && echo after; } >expected.framed
same "what comes before and after the answer stays there" expected.framed log
dd if=/dev/zero of=log bs=1M count=1 2>/dev/null
{ answer sort text; } 1<>log
check "a file that was longer is only written over" [ "$(stat -c %s log)" = $((1 << 20 > $(stat -c %s expected) ? 1 << 20 : $(stat -c %s expected))) ]
check "by the answer" cmp -n "$(stat -c %s expected)" expected log

# A thread that cannot be started.
check "a job with much thread-local data is built" compile thread_local
sort text | uniq -c | awk '{ count = $1; sub(/^ *[0-9]+ /, ""); print $0 "\t" count }' >expected.counts
through_a_pipe() { corral -l "$left" -- "$WEFT" run -q ./thread_local text | cat; }
gives "its answer goes through a pipe" expected.counts through_a_pipe
if is_sanitized; then
    skip "an answer that cannot be copied is an error before any work" "preloading under a sanitizer"
else
    "${CC:-cc}" -shared -fPIC -o no_thread.so "$e2e/jobs/no_thread.c" -ldl || exit 1
    to_nobody() {
        set -o pipefail
        corral -l "$left" -- env LD_PRELOAD="$PWD/no_thread.so" WEFT_NO_THREAD=1 "$WEFT" run sort text | cat
    }
    fails_with "an answer that cannot be copied is an error before any work" 5 'cannot copy to standard output.*thread' to_nobody
fi

# What a file system tells only when a file is closed.
if is_sanitized; then
    skip "an error of a close is an error of the run" "preloading under a sanitizer"
else
    "${CC:-cc}" -shared -fPIC -o bad_close.so "$e2e/jobs/bad_close.c" -ldl || exit 1
    mkdir far
    closing() { corral -l "$left" -- env LD_PRELOAD="$PWD/bad_close.so" WEFT_BAD_CLOSE="$PWD/far" "$WEFT" run -q sort text "$@"; }
    fails_with "an error of a close is an error of the run, into a file" 5 'no space|no room' closing -o far/file
    check "which is not there" [ ! -e far/file ]
    fails_with "into a directory" 5 'no space|no room' closing -o far/dir/
    check "which is not there" [ ! -e far/dir ]
    to_stdout() { closing --slots 1 >far/out; }
    try to_stdout
    check "on standard output" [ "$code" = 5 ]
fi

nothing_left "nothing is left by all of these"

finish
