#!/bin/bash
# python -m weft.tf1: a cluster program for TensorFlow 1 runs without it, ends, and is exact when a member is killed.
. "$(dirname "$0")/lib.sh"

package=$(dirname "$WEFT")/python
ls "$package"/weft/_weft*.so >/dev/null 2>&1 || { skip "the package for Python" "it is not built" && finish; }
is_sanitized && { skip "the package for Python" "Python itself is not sanitized" && finish; }
export PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3

words=(49 57 53 43 38 68 93 54 49 44 38 59 42 38 38 76 48 53 68 26 27 26) # 1087
for i in "${!words[@]}"; do
    yes word | head -n "${words[i]}" >"file$i.txt"
    echo "file$i.txt" >>filenames.txt
    echo "${words[i]} words in file$i.txt"
done | sort >expected

# The three forms in which such programs add: assign, assign_add, and with the end of the queue caught.
cp "$e2e/data/tf1_count.py" assign.py
sed 's/tf.assign(total, total + words)/tf.assign_add(total, words, use_locking=True)/' assign.py >assign_add.py
sed 's/^        name = session.run(take)$/        try:\n            name = session.run(take)\n        except tf.errors.OutOfRangeError:\n            break/' \
    assign_add.py >caught.py
check_not "the forms differ" cmp -s assign.py assign_add.py
check_not "all three" cmp -s assign_add.py caught.py
run() { weft cluster run --role files=1 --role reduce=1 --role map=2 "$@"; }

for form in assign assign_add caught; do
    try run "$python" -m weft.tf1 $form.py
    check "$form: all members end with 0" is "$code" 0
    check "$form: the total is exact" is "$(grep 'reduce/0' "$out" | tail -n 1)" "reduce/0| 1087 words so far"
    sed -n 's/^map.*| //p' "$out" | sort >lines
    same "$form: each file is printed once, by its plain name" expected lines
    check "$form: nothing else is said" test ! -s "$err"
done

# Four shells, and kill -9 of the first map that comes to its third file. It holds that file: it has printed its count, and
# adds only then.
read -r a b c d <<<"$(free_ports 4)"
check "the files for four shells" weft cluster config -q --role files=localhost:"$a" --role reduce=localhost:"$b" \
    --role map=localhost:"$c",localhost:"$d"
killed() { # PROGRAM: the same, with the kill
    rm -f killed
    awk '/^import time$/ { print "import os"; print "seen = 0" }
        { print }
        / words in / { print "        seen += 1"
            print "        if seen == 3:"
            print "            try:"
            print "                os.close(os.open(\"killed\", os.O_CREAT | os.O_EXCL))"
            print "                os.kill(os.getpid(), 9)"
            print "            except FileExistsError:"
            print "                pass" }' "$1" >killed.py
}
shells() { # PROGRAM: the exit codes of files, reduce, and the maps in order
    local member pids=() codes=()
    rm -f ./*.out
    for member in files_0 reduce_0 map_0 map_1; do
        # shellcheck source=/dev/null
        (. ./config_$member.sh && exec "$python" -m weft.tf1 "$1") >$member.out 2>$member.err &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do { wait "$pid"; } 2>/dev/null; codes+=($?); done
    echo "${codes[@]:0:2}" "$(printf '%s\n' "${codes[@]:2}" | sort -n | xargs)"
}
check "in four shells all end with 0" is "$(shells assign.py)" "0 0 0 0"
check "and the total is exact" is "$(tail -n 1 reduce_0.out)" "1087 words so far"
forms=(assign)
is_long && forms=(assign assign_add caught)
for form in "${forms[@]}"; do
    killed $form.py
    check "$form, a map killed: the others end with 0" is "$(shells killed.py)" "0 0 0 137"
    check "and the total is exact all the same" is "$(tail -n 1 reduce_0.out)" "1087 words so far"
done

# --forever: as in TensorFlow, files and reduce stay.
try timeout 20 "$WEFT" cluster run --until map --role files=1 --role reduce=1 --role map=2 "$python" -m weft.tf1 --forever caught.py
check "--forever: the maps end, the others are stopped" test "$(grep -c 'words in' "$out")" = 22

# What it has not says so.
printf 'import tensorflow as tf\ntf.matmul(1, 2)\n' >none.py
try "$python" -m weft.tf1 none.py
check "a name that it has not is an error" is "$code" 1
check "that says what it has" grep -q 'AttributeError: weft.tf1 has no tf.matmul; it has .*FIFOQueue' "$err"
try "$python" -m weft.tf1 nowhere.py
check "no such program: exit 4" is "$code" 4
finish
