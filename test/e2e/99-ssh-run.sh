#!/bin/bash
# weft run --on ssh://: the clients of a job are started on other machines, and the answer is that of one machine.
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "jobs on ssh hosts"

fresh_hosts 3
for ((i = 0; i < 100; i++)); do cat "$root"/examples/texts/*; done >book.txt
weft run -q wordcount book.txt >expected
try weft run -q --on ssh://h1,h2,h3 wordcount book.txt
check "a job on three hosts" [ "$code" = 0 ]
same "has the bytes of one machine" expected "$out"
nothing_left_on_hosts "and leaves nothing there"
try weft run -q wordcount --on=ssh://h1,h2 book.txt -o counts/
check "the option may come after the job" [ "$code" = 0 ]
same "the answer in a directory" expected <(cat counts/part-*)
try weft run -q --on ssh://h1,h2 "$root/examples/wordcount.c" book.txt
same "a program that is built here" expected "$out"
try weft run --on ssh://h1,h2 --clients 3 wordcount book.txt
same "more clients than hosts" expected "$out"
says "which all join" '.3 now.'
fails_with "clients here" 2 'try: --on ssh://' weft run --clients 3 wordcount book.txt
fails_with "clients that are no number" 2 'not a number from 1' weft run --on ssh://h1 --clients many wordcount book.txt
weft run -q sort book.txt >expected
try weft run -q --on ssh://h1,h2,h3 sort book.txt
same "sort" expected "$out"
weft run -q --map 'tr a-z A-Z' book.txt >expected
try weft run -q --on ssh://h1,h2,h3 --map 'tr a-z A-Z' book.txt
same "a command" expected "$out"
nothing_left_on_hosts "nothing is left of these"

# The package for Python is in an archive: the hosts have none.
if /usr/bin/python3 -c 'import venv' 2>/dev/null && [ -e "${WEFT%/*}/python/weft" ]; then
    /usr/bin/python3 -m venv --without-pip venv
    cp -rL "${WEFT%/*}/python/weft" venv/lib/python3.*/site-packages/
    weft pack -q -o env.tar.zst venv >packed
    printf 'def mapfn(line):\n    for word in line.split():\n        yield word, 1\n\n\nfold = sum\n' >words.py
    weft run -q wordcount book.txt >expected
    try weft run -q --on ssh://h1,h2 --archive env.tar.zst words.py book.txt
    same "a script of Python, by the Python of an archive" expected "$out"
    mkdir letters
    echo 'def lift(word): return word.upper()' >letters/__init__.py
    cat >program.py <<'END'
import weft

def mapfn(line):
    from letters import lift
    for word in line.split():
        yield lift(word), 1

if __name__ == "__main__":
    on = {"on": "ssh://h1,h2", "archive": "env.tar.zst"}
    print(dict(weft.run(map=mapfn, fold=sum, inputs="book.txt", **on))["THE"])
END
    PYTHONPATH=${WEFT%/*}/python try /usr/bin/python3 program.py
    same "weft.run(on=...) in a program, and a package that only a function imports" <(tr -s '[:space:]' '\n' <book.txt | grep -cix the) "$out"
    ! grep -q 'join by' "$err" && ok "which does not say how to join" || not_ok "which does not say how to join"
    try weft run -q --on ssh://h1 words.py book.txt
    says "a host without the package is set aside" 'has no package weft'
    says "and the run ends with that" 'no client could work for the job'
    check "with its exit code" [ "$code" = 3 ]
    printf 'source = ["a b", "b"]\n' | cat - words.py | sed 's/mapfn(line)/mapfn(key, line)/' >source.py
    try weft run -q --on ssh://h1 source.py
    says "also where the values come from the script" 'no client could work for the job'
    check "with the same exit code" [ "$code" = 3 ]
    nothing_left_on_hosts "and nothing is left there"
    nothing_left_on_hosts "nothing is left of this"
else
    skip "a script of Python, by the Python of an archive" "there is no package for Python"
fi
fails_with "an archive here" 2 'try: --on ssh://' weft run --archive env.tar.zst wordcount book.txt
fails_with "an archive that is not there" 4 'nosuch.tar.zst' weft run --on ssh://h1 --archive nosuch.tar.zst wordcount book.txt

weft run -q wordcount book.txt >expected
try weft run -q --on local: wordcount book.txt
same "local: is this machine" expected "$out"
fails_with "an input that is not there" 4 'cannot find the input nosuch' weft run --on ssh://h1 wordcount nosuch
fails_with "a host that there is not" 4 'cannot start members on nowhere.invalid' weft run --on ssh://nowhere.invalid wordcount book.txt
! grep -q 'stopped by a signal' "$err" && ok "and the server says no more of it" || not_ok "and the server says no more of it"
fails_with "a program on a host that there is not" 3 'no client could work' weft run --on ssh://nowhere.invalid "$root/examples/wordcount.c" book.txt
fails_with "a typo" 2 'did you mean: ssh:' weft run --on shh://h1 wordcount book.txt
fails_with "two ways to have clients" 2 'and --listen waits for others' weft run --on ssh://h1 --listen :0 wordcount book.txt
fails_with "a server has no launcher" 2 'and --listen waits for others' weft server --on ssh://h1 wordcount book.txt
fails_with "a program alone has none" 2 'are for weft run' "${WEFT_BUILD:-$(dirname "$WEFT")}/examples/wordcount" --on ssh://h1 book.txt

cat >slow.sh <<'END'
cat; sleep 1000
END
"$WEFT" run --on ssh://h1,h2 --file slow.sh --map 'sh slow.sh' book.txt >"$out" 2>"$err" &
pid=$!
sleeps_on() { hosts exec "$1" pgrep sleep; }
until sleeps_on h1 >/dev/null || sleeps_on h2 >/dev/null; do sleep 0.1; done
kill -TERM $pid
wait $pid
check "SIGTERM ends the job" [ $? = 143 ]
nothing_left_on_hosts "and its clients"
"$WEFT" run --on ssh://h1,h2 --file slow.sh --map 'sh slow.sh' book.txt >"$out" 2>"$err" &
pid=$!
until sleeps_on h1 >/dev/null || sleeps_on h2 >/dev/null; do sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
nothing_left_on_hosts "kill -9, too"
finish
