#!/bin/bash
# examples/count.py: ends by itself, and is exact when members are killed.
. "$(dirname "$0")/lib.sh"

package=$(dirname "$WEFT")/python
ls "$package"/weft/_weft*.so >/dev/null 2>&1 || { skip "the package for Python" "it is not built" && finish; }
is_sanitized && { skip "the package for Python" "Python itself is not sanitized" && finish; }
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
program=$root/examples/count.py
check "it has at most 25 lines" test "$(wc -l <"$program")" -le 25

# Small files, their names, and the number of their words in $total.
total=0
for ((i = 0; i < 60; i++)); do
    words=$((i * 37 % 50 + 1)) total=$((total + i * 37 % 50 + 1))
    yes word | head -n $words >"file$i.txt"
    echo "file$i.txt" >>filenames.txt
done
run() { weft cluster run --role files=1 --role reduce=1 --role map=2 "$@"; }

try run "$python" "$program"
check "all end by themselves with 0" is "$code" 0
check "the total is exact" is "$(grep -o '[0-9]* words so far' "$out" | tail -n 1)" "$total words so far"
grep -o '[0-9]* words in .*' "$out" | sort >lines
for i in $(seq 0 59); do echo "$((i * 37 % 50 + 1)) words in file$i.txt"; done | sort >expected
same "each file is counted once" expected lines
check "nothing else is said" test ! -s "$err"

# The first mapper that comes to its 5th file kills itself, after it has counted it, before or after it has added that.
# killed_at PLACE: such a program.
killed_at() {
    cat >claim.py <<'END'
import os


def claim():
    """Whether this process is the first to ask."""
    try:
        os.close(os.open("killed", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True
END
    sed 's/^import weft$/import os, claim, weft\nseen = 0/' "$program" |
        awk -v place="$1" '
            /total.add/ && place == "after" { print }
            /total.add/ { print "                seen += 1"
                print "                if seen == 5 and claim.claim():"
                print "                    os.kill(os.getpid(), 9)" }
            !(/total.add/ && place == "after")' >killed.py
    rm -f killed
}
shown() { grep -o '[0-9]* words so far' "$out" | tail -n 1; }
restarted() {
    killed_at "$1"
    try run --restart map=1 "$python" killed.py
    check "killed $1 its add and started again: exit 0" is "$code" 0
    check "the mapper was killed" test -e killed
    check "and the total is exact" is "$(shown)" "$total words so far"
}
not_restarted() {
    killed_at "$1"
    try run --keep-going "$python" killed.py
    check "killed $1 its add, the other one does the rest: exit 137" is "$code" 137
    check "and the total is exact" is "$(shown)" "$total words so far"
}
restarted before
not_restarted after
if is_long; then
    restarted after
    not_restarted before
fi
finish
