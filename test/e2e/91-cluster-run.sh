#!/bin/bash
# weft cluster run: whole lines with names, exit codes, signals, restarts, and nothing left behind.
# also: asan
. "$(dirname "$0")/lib.sh"

run() { weft cluster run "$@"; }

# Waits until a command succeeds, for a while.
until_so() {
    local i
    for ((i = 0; i < 1000; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    return 1
}
has_lines() { [ "$(wc -l <"$2" 2>/dev/null || echo 0)" -ge "$1" ]; }

# --- lines ------------------------------------------------------------------------------------------

try run --role files=1 --role map=2 sh -c 'echo "this is $WEFT_ROLE $WEFT_INDEX"; echo aside >&2; printf end'
sort "$out" >sorted
cat >expected <<'END'
files/0| end
files/0| this is files 0
map/0  | end
map/0  | this is map 0
map/1  | end
map/1  | this is map 1
END
same "lines have the name of their member in front, the last gets its newline" expected sorted
printf 'files/0| aside\nmap/0  | aside\nmap/1  | aside\n' >expected
sort "$err" >sorted
same "standard error stays standard error" expected sorted
check "all that ended well is 0" [ "$code" = 0 ]

try run --no-prefix --role a=1 printf 'x\0y\xff\n\nlast'
printf 'x\0y\xff\n\nlast\n' >expected
same "without names, bytes of any kind pass" expected "$out"
try run --role a=1 printf 'x\0y\xff\n\r\nlast'
printf 'a/0| x\0y\xff\na/0| \r\na/0| last\n' >expected
same "with names as well" expected "$out"

cat >talker.py <<'END'
import os, sys
name = os.environ["WEFT_ROLE"] + "/" + os.environ["WEFT_INDEX"]
for i in range(2000):
    text = f"{name} {i} ".ljust(20 + (i * 7919) % 300, name[-1]) + ".\n"
    half = len(text) // 2
    os.write(1, text[:half].encode())
    os.write(1, text[half:].encode())
END
try run --role a=5 python3 talker.py
cat >whole.py <<'END'
import re, sys
seen = {}
for line in open(sys.argv[1]):
    name, number = re.fullmatch(r"(a/\d)\| \1 (\d+) +?\d*\.\n", line).groups()
    assert int(number) == seen.get(name, -1) + 1, line
    seen[name] = int(number)
assert seen == {f"a/{i}": 1999 for i in range(5)}, seen
END
check "lines written in halves are whole, and in order for each member" python3 whole.py "$out"

try run --role a=1 sh -c 'head -c 200000 /dev/zero | tr "\0" x; echo; echo next'
check "a long line comes in pieces" python3 - "$out" <<'END'
import sys
lines = open(sys.argv[1]).read().split("\n")
assert [len(line) for line in lines] == [5 + 65536] * 3 + [5 + 200000 - 3 * 65536, 9, 0]
assert all(line.startswith("a/0| ") for line in lines[:-1])
END

run --role a=4 sh -c 'yes "$WEFT_INDEX abcdefghijklmnopqrstuvwxyz" | head -c 25000000' 2>"$err" |
    awk '{ n[$1 " " $2 " " $3]++ } END { for (k in n) print k, n[k] }' | sort >"$out"
check "100 MB pass, whole" [ "$(grep -cE '^a/([0-3])\| \1 abcdefghijklmnopqrstuvwxyz 86206[89]$' "$out")" = 4 ]

try run --role a=40 sh -c 'echo "$WEFT_INDEX"; echo two >&2'
check "40 members" [ "$code" = 0 ] && check "all of them speak" [ "$(sort -u "$out" | wc -l)" = 40 ]

# One that floods, and one that says a word.
try timeout 60 "$WEFT" cluster run --role flood=1 --role word=1 sh -c \
    'if [ $WEFT_ROLE = flood ]; then exec yes; else sleep 0.3; echo here >&2; exit 3; fi' >/dev/null
check "who floods does not keep the others from speaking" grep -q '^word/0 *| here$' "$err"
check "and not from failing" [ "$code" = 3 ]

timeout 60 "$WEFT" cluster run --role a=2 yes 2>"$err" | head -n 1 >/dev/null
check "when nobody reads any more, all end" [ "${PIPESTATUS[0]}" = 141 ]
fails_with "an output that is full" 5 'cannot write standard output' bash -c "exec '$WEFT' cluster run --role a=1 sh -c 'echo x; sleep 100' >/dev/full"

# --- who a member is ----------------------------------------------------------------------------------

cat >server.py <<'END'
import json, os, socket, sys, time
config = json.loads(os.environ["TF_CONFIG"])
role, index = config["task"]["type"], config["task"]["index"]
assert (role, str(index)) == (os.environ["WEFT_ROLE"], os.environ["WEFT_INDEX"])
assert {k: len(v) for k, v in config["cluster"].items()} == {"files": 1, "map": 3}
host, port = config["cluster"][role][index].rsplit(":", 1)
server = socket.socket()
server.bind((host, int(port)))  # on purpose without SO_REUSEADDR
server.listen()
others = sorted(address for addresses in config["cluster"].values() for address in addresses)
for address in others:
    host, port = address.rsplit(":", 1)
    for attempt in range(200):
        try:
            socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    else:
        sys.exit("nobody at " + address)
for other in others:
    server.accept()
print("met", len(others), json.dumps(config["cluster"], sort_keys=True))
END
TF_CONFIG=old WEFT_ROLE=old try run --role files=1 --role map=3 python3 server.py
check "members listen at their addresses and find each other" [ "$code" = 0 ]
check "all see the same cluster" [ "$(sed 's/^.*| //' "$out" | sort -u | wc -l)/$(wc -l <"$out")" = 1/4 ]

cat >sharing.py <<'END'
import errno, json, os, socket, sys
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["a"][0].rsplit(":", 1)
try:
    socket.socket().bind((host, int(port)))
    sys.exit("the port is not held")
except OSError as error:
    assert error.errno == errno.EADDRINUSE, error
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
server.bind((host, int(port)))
server.listen()
socket.create_connection((host, int(port)))
server.accept()
first = not os.path.exists("restarted")
open("restarted", "w").close()
sys.exit(9 if first else 0)
END
for value in true 1; do
    rm -f restarted
    try run --role a=1 --restart 1 --env TF_GRPC_REUSE_PORT=$value python3 sharing.py
    check "TF_GRPC_REUSE_PORT=$value: a port is held until the end, also of a member that is started again" is "$code" 0
done
try run --role a=1 --env TF_GRPC_REUSE_PORT=false python3 sharing.py
check "else it is not held" grep -q 'the port is not held' "$err" "$out"

port=$(free_ports 1)
echo "{\"files\": [\"localhost:$port\"], \"map\": [\"127.0.0.1:0\"]}" >here.json
try run --cluster here.json --no-prefix sh -c 'test $WEFT_ROLE = files && echo "$TF_CONFIG"'
check "addresses of a cluster file are kept" grep -q "\"localhost:$port\"" "$out"
check_not "port 0 is chosen" grep -q '127.0.0.1:0"' "$out"
echo '{"files": ["192.0.2.7:2222"]}' >there.json
fails_with "an address of another machine" 2 '/files/0: 192.0.2.7 is not an address of this machine' run --cluster there.json true
python3 -c '
import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", int(sys.argv[1]))); s.listen(); print(flush=True); time.sleep(100)' "$port" >ready &
listener=$!
until_so test -s ready
fails_with "a port that is taken" 3 "another program listens at port $port of localhost already" run --cluster here.json true
kill $listener
wait $listener 2>/dev/null
try run --role a=1 readlink /proc/self/fd/0
check "members read /dev/null" grep -q '/dev/null' "$out"
echo 'read me' | weft cluster run --role a=2 --stdin a/1 cat >"$out" 2>"$err"
check "one may read our standard input" [ "$(cat "$out")" = 'a/1| read me' ]
mkdir elsewhere
try run --no-prefix --role a=1 --cd elsewhere pwd
check "--cd" [ "$(cat "$out")" = "$PWD/elsewhere" ]
try run --role a=1 echo --restart 5 -v
check "options behind the program are the program's" [ "$(cat "$out")" = 'a/0| --restart 5 -v' ]

# --- failures -----------------------------------------------------------------------------------------

fails_with "a program that is not there" 4 'cannot start nosuch: there is no such program' run --role a=3 nosuch
echo text >plain.txt
fails_with "a file that is no program" 5 'not executable' run --role a=3 ./plain.txt
fails_with "no directory" 4 'in the directory nowhere' run --role a=3 --cd nowhere true
fails_with "a role that is not there" 2 '"b" is not a role of this run' run --role a=1 --restart b=2 true
fails_with "a member that is not there" 2 'there is no member b/0' run --role a=1 --stdin b/0 true

limited() { (ulimit -n 100 && exec "$WEFT" cluster run --role a=60 sleep 100); }
fails_with "a member that cannot be started stops the others" 5 'too many open files' limited
check "which is told once, with what to do" [ "$(wc -l <"$err")" = 3 ]
try run --role a=3 sh -c 'test $WEFT_INDEX = 1 && exit 7; sleep 100'
check "the exit code of who fails" [ "$code" = 7 ]
says "is told" 'a/1 exited with code 7'
try run --role a=3 sh -c 'test $WEFT_INDEX = 1 && kill -SEGV $$; sleep 100'
check "a signal is 128 + its number" [ "$code" = 139 ]
try run --keep-going --role a=3 sh -c 'test $WEFT_INDEX = 1 && exit 7; sleep 0.3; echo done'
check "--keep-going: the others end by themselves" [ "$code/$(wc -l <"$out")" = 7/2 ]
rm -f deaf # the other one fails only when it is
try run --grace 300ms --role a=2 sh -c 'if test $WEFT_INDEX = 1; then until test -e deaf; do sleep 0.01; done; exit 9; fi
    trap "" TERM; : >deaf; while :; do sleep 1; done'
check "who ignores SIGTERM is killed" [ "$code" = 9 ]
says "which is told" 'a/0 did not end by itself and is killed'
try run -q --role a=2 sh -c 'exit $WEFT_INDEX'
check "-q says nothing" [ "$code/$(wc -c <"$err")" = 1/0 ]
try run --timeout 300ms --role a=2 sleep 100
check "--timeout" [ "$code" = 6 ]
try run --role a=2 true
check "a good end is quiet" [ "$code/$(wc -c <"$err")" = 0/0 ]
try run --role ps=1 --role worker=2 --until worker sh -c 'test $WEFT_ROLE = worker || sleep 100'
check "--until: servers are stopped when the others are done" [ "$code/$(wc -c <"$err")" = 0/0 ]
try run --role ps=1 --role worker=1 --until worker sh -c 'test $WEFT_ROLE = worker && sleep 100; exit 4'
check "a server that fails is a failure" [ "$code" = 4 ]
fails_with "--until a role that is not there" 2 'there is no role b' run --role a=1 --until b true
try run -v --role a=2 true
says "-v sums up" '^weft: 2 members, 0 restarts, '
try run --role a=1 sh -c 'sleep 1000 & echo done'
check "what a member leaves in the background does not hold us" [ "$code/$(cat "$out")" = '0/a/0| done' ]

# --- restarts -------------------------------------------------------------------------------------------

cat >third.sh <<'END'
echo "$TF_CONFIG" >>"$WEFT_JOURNAL/config"
n=$(wc -l <"$WEFT_JOURNAL/config")
echo "start $n"
test $n -ge 3 && exit 0
test $n = 1 && exit 4
kill -9 $$
END
try run --role a=1 --restart 5 sh third.sh
check "a member that fails is started again" [ "$code/$(tail -n 1 "$out")" = '0/a/0| start 3' ]
says "which is told" 'a/0 is started again \(2 of 5\)'
says "and summed up" '^weft: 1 member, 2 restarts, '
nothing_left "the directory for journals is gone"
try run --role a=1 --restart a=1 sh third.sh
check "as often as allowed" [ "$code" = 137 ]
try run --role a=1 --restart 3 --journal kept sh third.sh
check "--journal keeps it" [ "$code/$(sort -u kept/config | wc -l)" = 0/1 ]
try run --role a=1 --role b=1 --restart b=1 sh -c 'echo; test $WEFT_ROLE = a && sleep 100; exit 3'
check "--restart ROLE=N is for that role" [ "$code/$(grep -c '^b' "$out")/$(grep -c '^a' "$out")" = 3/2/1 ]

cat >killed.py <<'END'
import json, os, socket, sys
config = json.loads(os.environ["TF_CONFIG"])
host, port = config["cluster"]["a"][0].rsplit(":", 1)
server = socket.create_server((host, int(port)))
first = not os.path.exists("pid")
open("pid", "w").write(str(os.getpid()))
if first:
    server.accept()
END
"$WEFT" cluster run --role a=1 --restart 1 python3 killed.py >"$out" 2>"$err" &
until_so test -s pid
kill -9 "$(cat pid)"
wait $!
check "kill -9 of a member: it is back at its port" [ $? = 0 ]
says "and that was told" 'a/0 was killed by signal 9'

# --- signals ----------------------------------------------------------------------------------------------

# stopped_by SIGNAL...: what the command exits with when these come, half a second apart.
# A shell gives its background jobs an ignored SIGINT: that is undone.
stopped_by() {
    local pid signal
    : >started
    env --default-signal=INT "$WEFT" cluster run --grace 20s --role a=3 bash -c "$member" >"$out" 2>"$err" &
    pid=$!
    until_so has_lines 3 started
    for signal in "$@"; do
        kill -s "$signal" $pid
        sleep 0.5
    done
    wait $pid
    code=$?
}
member='trap "echo ends; exit 0" TERM; echo >>started; while :; do sleep 0.05; done'
stopped_by INT
check "SIGINT: members get SIGTERM, 130" [ "$code/$(grep -c ends "$out")" = 130/3 ]
stopped_by TERM
check "SIGTERM: 143" [ "$code/$(grep -c ends "$out")" = 143/3 ]
stopped_by HUP
check "SIGHUP: 129" [ "$code/$(grep -c ends "$out")" = 129/3 ]
member='trap "" TERM; echo >>started; while :; do sleep 0.05; done'
stopped_by INT INT
check "twice kills at once" [ "$code" = 130 ]
says "what is to come is told" 'once more kills them'

# A pager that reads nothing does not keep us from ending.
mkfifo pipe
sleep 100 <>pipe &
pager=$!
env --default-signal=INT "$WEFT" cluster run --role a=1 yes >pipe 2>"$err" &
pid=$!
sleep 0.5
kill -INT $pid
sleep 0.5
kill -INT $pid
wait $pid
check "an output that is full does not keep us from ending" [ $? = 130 ]
kill $pager
wait $pager 2>/dev/null

# Held open by the members and all they start, in other sessions too: its reader ends when they have.
mkfifo alive
cat >family.sh <<'END'
exec 9>alive
setsid sh -c 'sleep 1000' &
(sleep 1000 &)
echo >>started
sleep 1000
END
: >started
"$WEFT" cluster run --role a=3 --restart 2 bash family.sh 2>"$err" &
pid=$!
exec 8<alive
until_so has_lines 3 started
kill -9 $pid
wait $pid 2>/dev/null
check "kill -9 of the command: all members and their children end" timeout 20 cat <&8
exec 8<&-
until_so test -z "$(ls "$dir/tmp")"

# --- JSON ---------------------------------------------------------------------------------------------------

try run --json --role a=1 --restart 1 sh -c 'echo "quote \" this" >&2; echo out; exit 3'
check "--json" python3 - "$err" <<'END'
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
names = [event["event"] for event in events]
assert names.count("started") == 2 and names.count("restart") == 1 and names.count("ended") == 2, names
assert [e["text"] for e in events if e["event"] == "line"] == ['quote " this'] * 2
assert events[-1]["event"] == "end" and events[-1]["exit_code"] == 3 and events[-1]["restarts"] == 1
END
check "standard output stays as it is" [ "$(sort -u "$out")" = 'a/0| out' ]

nothing_left "no process and no file is left"
finish
