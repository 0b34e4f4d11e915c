#!/bin/bash
# Programs of the library run in Valgrind, which reports nothing that is not an error of theirs: a job, with its worker,
# and the members of a cluster.
. "$(dirname "$0")/lib.sh"

command -v valgrind >/dev/null || { skip "programs in Valgrind" "it is not installed" && finish; }
is_sanitized && { skip "programs in Valgrind" "a sanitizer watches this build" && finish; }

# build SOURCE NAME [FLAG...]
build() {
    local library
    library=$(dirname "$WEFT")
    "${CC:-cc}" -O2 -g -I"$root/include" "${@:3}" "$1" -o "$2" -L"$library" -lweft -Wl,-rpath,"$library"
}

# in_valgrind COMMAND...: with the reports of all its processes in the files reports.*
in_valgrind() {
    rm -f reports.*
    # A worker ends with its threads: their stacks are only possibly lost.
    corral -l "$left" -- valgrind -q --trace-children=yes --leak-check=full --show-leak-kinds=definite \
        --log-file=reports.%p "$@"
}
reports() { cat reports.* >all && cat_first all; }

check "a job is built with WEFT_NO_FAST_PATH" build "$e2e/jobs/tight.c" tight -DWEFT_NO_FAST_PATH
check "and without" build "$e2e/jobs/tight.c" fast
generate words 20000 77 >text
oracle words text | awk -F '\t' '{ print $1 "\t" $2 * 3 }' >expected
gives "it runs in Valgrind" expected in_valgrind ./tight -q -n 2 text
check "with its worker" test "$(find . -name "reports.*" | wc -l)" -ge 2
check_not "and nothing is reported" reports
gives "also with values of all kinds" expected in_valgrind ./tight -q -n 2 -v text
check_not "nothing is reported" reports
gives "the fast path gives the same" expected in_valgrind ./fast -q -n 2 text
check "and is reported: the test would notice" reports

check "a program of a cluster is built" build "$root/examples/count.c" count
ls "$root"/examples/texts/* >names
try in_valgrind "$WEFT" cluster run --role files=1 --role map=2 --role reduce=1 -- ./count names
check "its members run in Valgrind" test "$code" = 0
check "and count all words" grep -q "^reduce/0| $(cat "$root"/examples/texts/* | wc -w) words so far" "$out"
check_not "nothing is reported" reports

finish
