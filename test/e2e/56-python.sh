#!/bin/bash
# Python scripts as jobs: the same bytes as the built-in jobs, the codec's types as keys and values, and what goes wrong
# in user code as one sentence.
. "$(dirname "$0")/lib.sh"

library=$(dirname "$WEFT")/python
ls "$library"/weft/_slot*.so >/dev/null 2>&1 || { skip "Python scripts" "the package is not built" && finish; exit; }
export WEFT_PYTHON=/usr/bin/python3 PYTHONDONTWRITEBYTECODE=1
[ -x $WEFT_PYTHON ] || WEFT_PYTHON=python3
if is_sanitized; then
    # A sanitized module cannot be loaded into Python, and slots are processes of their own: the sanitized engine runs with the package of make.
    released=$(cd "$(dirname "$0")/../.." && pwd)/build/python
    ls "$released"/weft/_slot*.so >/dev/null 2>&1 || { skip "Python scripts" "the package of make is not built" && finish; exit; }
    mkdir engine && cp "$WEFT" engine/ && ln -s "$released" engine/python && WEFT=$PWD/engine/weft
fi

script() { cat >"$1.py"; }

# --- word count
generate words 400000 71 >text
mkdir books && cp text books/a && generate words 30000 72 >books/b && printf 'no end' >books/c && : >books/d
printf 'caf\303\251 \377\376 \370x \365y z\303 a\000b caf\303\251\r\nnext\r\n' >books/e
script wc <<'END'
def mapfn(line):
    for word in line.split(" "):
        if word:
            yield word, 1


fold = sum
END
printf 'b\na b\n' >small
printf 'raise RuntimeError\n' >json.py # not the module that Python has
answer wordcount text >expected
gives "word count prints the bytes of the built-in job" expected answer wc.py text
tr ' \n' '\n\n' <books/e | tr -d '\r' | grep -a . | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2\t\1/' >expected
gives "bytes that are not UTF-8 come back as they were, and sort as bytes" expected answer wc.py books/e
answer wc.py books >expected
rm json.py
for slots in 1 3; do gives "the same with $slots slots" expected answer --slots $slots wc.py books; done
sed '1s/^/encoding = None\n/; s/" "/b" "/' wc.py >wcb.py
cat books/[abc] >joined
answer wc.py joined | sed 's/^/x/' >expected
answer wcb.py joined | sed 's/^/x/' >"$dir/got"
gives "with encoding = None records and keys are bytes, which print as they are" expected cat "$dir/got"
script list <<'END'
def mapfn(line):
    return [(word, 1) for word in line.split()]
fold = sum
END
script emits <<'END'
def mapfn(line, emit):
    for word in line.split():
        emit(word, 1)
fold = sum
END
script counter <<'END'
from collections import Counter
def mapfn(line):
    return Counter(line.split())
fold = sum
END
script keys <<'END'
import weft
def mapfn(line):
    return line.split()
fold = weft.count
END
answer wordcount text >expected
for form in list emits counter keys; do gives "mapfn may give its pairs as $form.py does" expected answer $form.py text; done
gives "options stand before and after the script" expected answer --slots 2 list.py --memory 256M text

# --- reduce, types, order
script kinds <<'END'
KEYS = ["b", "a", "", "é", None, True, False, 3, -3, 10**30, -10**30, 1.5, -0.5, b"\xff", b"", (1, "x"), (1,), ("a", None)]
def mapfn(line):
    for key in KEYS:
        yield key, (line, len(line), 2.5, None, b"v", {"set": [1]})
def reducefn(key, values):
    line, length, real, nothing, raw, other = values[0]
    assert (length, real, nothing, raw, other) == (len(line), 2.5, None, b"v", {"set": [1]}), values
    assert any(key == one and type(key) is type(one) for one in KEYS), key
    yield repr(key), len(values)
    yield "total", 1
END
printf "''\t2\n'a'\t2\n'b'\t2\n'é'\t2\nNone\t2\nFalse\t2\nTrue\t2\n-%s\t2\n-3\t2\n3\t2\n%s\t2\n-0.5\t2\n1.5\t2\nb''\t2\nb'\\\\xff'\t2\n" \
    1000000000000000000000000000000 1000000000000000000000000000000 >expected
printf "('a', None)\t2\n(1,)\t2\n(1, 'x')\t2\n" >>expected
gives "keys of all types sort in the documented order and come back as they were" expected \
    sh -c '"$WEFT" run -q kinds.py small | grep -v ^total'
script octo <<'END'
def mapfn(line):
    yield len(line), line
def reducefn(key, values):
    return key, values
END
printf "1\t(1, ['b'])\n3\t(3, ['a b'])\n" >expected
gives "what reducefn returns is the value of its key" expected answer octo.py small
script sums <<'END'
def mapfn(line):
    yield "int", 2**62
    yield "real", 0.1
    yield "mixed", 1
    yield "mixed", 0.5
    yield (1, 2), 1
    yield 7, -10**30
    yield "true", True
fold = sum
END
yes line | head -n 3000 >lines
printf 'int\t13835058055282163712000\nmixed\t4500.0\nreal\t300.00000000000001\ntrue\t3000\n7\t-3000000000000000000000000000000000\n(1, 2)\t3000\n' |
    sed 's/300.00000000000001/300.0/' >expected
gives "sums are exact, of ints of any size" expected answer sums.py lines
script least <<'END'
def mapfn(line):
    for word in line.split():
        yield word[0], (len(word), word)
fold = min
END
tr -s ' ' '\n' <text | LC_ALL=C.UTF-8 awk 'length { k = substr($0, 1, 1); v = sprintf("%09d%s", length, $0);
    if (!(k in m) || v < m[k]) m[k] = v } END { for (k in m) printf "%s\t(%d, '\''%s'\'')\n", k, substr(m[k], 1, 9), substr(m[k], 10) }' |
    sort >expected
gives "a fold of the user's joins values as they come" expected answer least.py text
script grep <<'END'
def mapfn(name, line):
    if "b" in line:
        yield line
END
printf 'b\na b\n' >expected
gives "without fold and reducefn the output is what mapfn gives, in input order" expected answer grep.py small
script rows <<'END'
format = "csv:header"
def mapfn(row):
    yield row["name"], int(row["n"])
fold = sum
END
printf 'name,n\n"a,b",1\nc,2\n"a,b",5\n' >rows.csv
printf 'a,b\t6\nc\t2\n' >expected
gives "a row of csv is a dict" expected answer rows.py rows.csv
{ echo name,n && yes c,1 | head -n 700000; } >long.csv
printf 'n,name\n5,d\n' >other.csv
printf 'a,b\t6\nc\t700002\nd\t5\n' >expected
gives "also in a later part of a file, and with the columns of its own file" expected answer --slots 2 rows.py rows.csv long.csv other.csv
script objects <<'END'
format = "jsonl"
def mapfn(event):
    yield event["user"]["name"], event.get("n", 1)
fold = sum
END
printf '{"user": {"name": "x"}, "n": 4}\n\n{"user": {"name": "y"}}\n' >events.jsonl
printf 'x\t4\ny\t1\n' >expected
gives "a line of jsonl is an object" expected answer objects.py events.jsonl
script files <<'END'
import os
format = "files"
def mapfn(name, text):
    yield os.path.basename(name), len(text)
fold = sum
END
printf 'a\t%s\nc\t6\nd\t0\n' "$(wc -c <books/a)" >expected
gives "a file may be a record" expected answer files.py books/a books/c books/d
generate words 3000000 73 >large
script distinct <<'END'
def mapfn(line):
    for number, word in enumerate(line.split()):
        yield f"{word}{len(line)}-{number}", 1
        yield f"{word}{number}", 2**61
fold = sum
END
answer --slots 1 distinct.py large >expected
gives "with little memory" expected answer --memory 96M --slots 2 distinct.py large
cmp -s expected /dev/null && not_ok "there was something to count"

# --- what goes wrong: one sentence each
fault() { # NAME PATTERN SENTENCE: the script $NAME.py fails with exit code 1
    fails_with "$3" 1 "$2" answer --max-attempts 1 "$1.py" small
}
script raises <<'END'
def helper(word):
    return int(word)
def mapfn(line):
    for word in line.split():
        yield word, helper(word)
fold = sum
END
fault raises "mapfn raised ValueError.*invalid literal" "an exception is shown"
for part in 'File "raises.py", line 2, in helper' 'return int(word)' "the record 'b', byte 0 of small" 'weft replay'; do
    check "with: $part" grep -qF -- "$part" "$err"
done
script reduce_raises <<'END'
def mapfn(line):
    yield line, 1
def reducefn(key, values):
    return 1 // 0
END
fault reduce_raises "reducefn raised ZeroDivisionError" "an exception in reducefn"
check "names the key" grep -qF "at the key 'a b'" "$err"
script none <<'END'
def mapfn(line):
    line.split()
fold = sum
END
fault none "mapfn returned None" "mapfn that returns nothing"
printf 'def mapfn(line):\n    yield 1, 2, 3\nfold = sum\n' >triples.py
fault triples "a tuple of 3 items, not .key, value." "mapfn that yields triples"
printf 'def mapfn(line):\n    yield line\nfold = sum\n' >bare.py
fault bare "fold = weft.count" "keys without values"
printf 'def mapfn(line):\n    return line\nfold = sum\n' >text_returned.py
fault text_returned "mapfn returned <class 'str'>" "a str is not a list of pairs"
printf 'def mapfn(line):\n    yield line, "1"\nfold = sum\n' >text_sum.py
fault text_sum "fold = sum adds numbers" "a sum of texts"
printf 'import threading\ndef mapfn(line):\n    yield line, threading.Lock()\ndef reducefn(k, v): return 1\n' >lock.py
fault lock "lock.*cannot be a key or value" "a value that cannot be pickled is named"
printf 'def f(n): return f(n + 1)\ndef mapfn(line):\n    yield f(0), 1\nfold = sum\n' >deep.py
fault deep "RecursionError" "endless recursion"
check "is cut in the middle" grep -q 'more frames' "$err"
printf 'import os\ndef mapfn(line): os._exit(3)\nfold = sum\n' >dies.py
fault dies "exited with code 3" "os._exit in mapfn"
printf 'import sys\ndef mapfn(line): sys.exit("bye")\nfold = sum\n' >exits.py
fault exits "mapfn called sys.exit" "sys.exit in mapfn"
printf 'import ctypes\ndef mapfn(line): ctypes.string_at(0)\nfold = sum\n' >crashes.py
fault crashes "signal 11" "a crash in C"
printf 'def mapfn(line)\n    yield 1\n' >syntax.py
fault syntax "SyntaxError" "a syntax error"
check "names file and line" grep -q 'File "syntax.py", line 1' "$err"
printf 'x = "mapfn"\n' >nothing.py
fault nothing "has no mapfn" "a script without mapfn"
printf 'import sys\nopen("was-run", "w")\n' >other.py
fails_with "one that does not even speak of it is not run" 2 "try: weft run --map" weft run other.py small
check_not "indeed" test -e was-run
printf 'import nosuchmodule # mapfn\n' >imports.py
fault imports "ModuleNotFoundError: No module named 'nosuchmodule'" "an import that raises"
printf 'import os\nif os.path.exists("flag"): raise RuntimeError("only in slots")\nopen("flag", "w")\ndef mapfn(l): yield l, 1\n' >slots.py
fault slots "only in slots" "an import that raises in the slots only"
printf 'def mapfn(a, b, c): pass\n' >three.py
fault three "mapfn takes 3 arguments" "mapfn with too many arguments"
printf 'encoding = "latin-1"\ndef mapfn(l): pass\n' >latin.py
fault latin "encoding is 'latin-1'" "another encoding"
fails_with "no Python" 2 "there is no Python here" env WEFT_PYTHON=/nonexistent "$WEFT" run wc.py small
fails_with "a Python without the package" 1 "has no package weft" env PATH="$PATH" sh -c \
    "mkdir -p bin && cp '$WEFT' bin/weft && bin/weft run wc.py small"
fails_with "--final of a job that is not a script" 2 "for a Python script" weft run --final wordcount small
fails_with "a script that does not exist" 4 "no such file" weft run nosuch.py small
script hoards <<'END'
def mapfn(line):
    for number in range(400):
        yield ("key", 1), "%d %s" % (number, "x" * 200)
    yield "other", 1
def reducefn(key, values): return len(values)
END
yes line | head -n 2500 >many
fails_with "a list of values that does not fit names its key" 5 "at the key .'key', 1., which has [0-9]* values" \
    answer --memory 100M --slots 1 hoards.py many
script prints <<'END'
import os, sys, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
def mapfn(line):
    print("said")
    os.write(1, b"written\n")
    assert sys.stdin.read() == "" and os.read(0, 1) == b""
    yield "k", 1
fold = sum
END
printf 'k\t2\n' >expected
gives "what it prints is not the answer, standard input is empty, a thread keeps nothing" expected answer prints.py small
check "it goes to standard error" test "$(grep -c -e '^said$' -e '^written$' "$err")" = 4

# --- bad records and kill -9
script some <<'END'
def mapfn(line):
    if line == "bad":
        raise ValueError(line)
    yield line, 1
fold = sum
END
{ yes good | head -n 20000 && echo bad && yes good | head -n 20000; } >mostly
printf 'good\t40000\n' >expected
gives "--skip-bad leaves a raising record out" expected answer --skip-bad 1 some.py mostly
check "and lists it" grep -q '"offset": *100000' _weft-bad-records.jsonl
script slow <<'END'
import os, time
def mapfn(line):
    open("pids/%d" % os.getpid(), "w")
    time.sleep(0.0002)
    yield line, 1
fold = sum
END
mkdir pids
yes good | head -n 4000 >slow
printf 'good\t4000\n' >expected
{ until [ -n "$(ls pids)" ]; do sleep 0.05; done; sleep 0.2; kill -9 "$(ls pids | head -n 1)"; } 2>/dev/null &
gives "kill -9 of a slot's Python costs an attempt" expected answer slow.py slow
wait
check "another interpreter was started" test "$(ls pids | wc -l)" -ge 2
# Sums stay in the interpreters until the last task has ended: one that is gone by then takes tasks with it.
script late <<'END'
import os, threading, time
def mapfn(line):
    if line == "first" and not os.path.exists("died"):
        def die():
            time.sleep(0.3)
            open("died", "w")
            os._exit(9)
        threading.Thread(target=die).start()
    elif line == "last":
        time.sleep(0.8)
    yield line, 1
fold = sum
END
printf 'first\nlast\n' >two
printf 'first\t1\nlast\t1\n' >expected
gives "one that ends when its tasks are done takes them with it, and they are done again" expected \
    answer --slots 2 --lines-per-task 1 late.py two
check "it did end" test -e died
finish
