#!/bin/bash
# What users see of a server and its clients: events, figures of each client, messages and exit codes; and that neither side leaves anything behind.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"
server_out=server.out server_err=server.err

generate words 600000 881 >words
seq 1 4000 >numbers

# hears PATTERN: until the server has said so.
hears() { await "grep -q '$1' server.err"; }

# ask EXPRESSION: evaluates Python with `events`, the objects of the server's standard error.
ask() {
    python3 -c 'import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
end = events[-1]
print(eval(sys.argv[2]))' server.err "$1"
}

# ---- events and figures ---------------------------------------------------------------------------------

# 40 tasks of half a second or so of waiting in all.
slowly=(--lines-per-task 100 --map 'sleep 0.05; cat' --shell numbers)
# Tasks from line 2000 on wait for the first gate, and from line 3000 on for the second.
export GATE=$PWD/gate
gated=(--lines-per-task 100 --shell --map
    'read -r n; echo "$n"; i=$((n / 1000)); while [ $i -gt 1 ] && [ ! -e "$GATE$i" ]; do sleep 0.02; done; cat' numbers)
touch gate2 gate3
answer "${gated[@]}" >expected
rm gate2 gate3
open_server --json "${gated[@]}"
join 2
hears ' has joined .*2 now'
kill -TERM "${clients[0]}"
hears '"event":"leaving"'
touch gate2
hears '"event":"left"'
join 1
for ((i = 0; i < 600 && $(grep -c '"event":"joined"' server.err) < 3; i++)); do sleep 0.05; done
touch gate3
all_end
check "a client leaves, another one comes" is "$code $codes" "0 0 0 0 "
same "with the same bytes" expected server.out
check "each that joins is an event" is "$(ask '[e["event"] for e in events].count("joined")')" 3
check "with its slots and how many there are" is \
    "$(ask '[(e["slots"], e["clients"]) for e in events if e["event"] == "joined"]')" "[(1, 1), (1, 2), (1, 2)]"
check "one that leaves is an event with its name" is \
    "$(ask '[e["client"] for e in events if e["event"] == "left"] == [c["client"] for c in end["clients"] if c["end"] == "left"]')" True
check "no client is a warning" is "$(ask '[e for e in events if e["event"] == "warning"]')" "[]"
check "the summary has every client" is "$(ask 'sorted(c["end"] for c in end["clients"])').$(ask 'end["workers"]')" "['end', 'end', 'left'].3"
check "tasks of all clients are the tasks of the job and those that were done again" is \
    "$(ask 'sum(c["tasks"] - c["tasks_again"] for c in end["clients"]) == end["map_tasks"] + end["reduce_tasks"]')" True
check "bytes of all clients are those of the input and of what was read again" is \
    "$(ask 'sum(c["bytes_in"] for c in end["clients"]) >= end["bytes_in"] > 0')" True

open_server -v wordcount words
join 2
all_end
check "people read a line for all clients" grep -q '^  shared 2 clients: ' server.err
check "and with -v one for each" is "$(grep -c '^  client .*tasks\?; .* read, ' server.err)" 2

open_server -q wordcount words
"$WEFT" client --json -n 1 "$at" 2>client.json
wait $server
check "a client's last object has its figures" python3 -c 'import json
end = [json.loads(line) for line in open("client.json")][-1]
assert end["event"] == "end" and end["tasks"] > 0, end
assert {"code_bytes", "served_bytes", "fetched_bytes"} <= set(end), end'

# ---- many small inputs that the client lacks, and few descriptors ------------------------------------------

mkdir small empty
for ((i = 0; i < 100; i++)); do printf "word$i and\nothers\n" >"small/$i"; done
for ((i = 0; i < 30; i++)); do cp -r small "small$i"; done
if is_root && unshare -m true 2>/dev/null; then
    answer wordcount small? small?? >expected
    ulimit -S -n 256
    open_server --json wordcount small? small??
    unshare -m bash -c "for d in small? small??; do mount --bind empty \$d; done; ulimit -n 256; exec '$WEFT' client -q -n 2 '$at'" &
    clients+=($!)
    all_end
    check "3,000 inputs of a server by a client with 256 descriptors" is "$code $codes" "0 0 "
    same "give the same bytes" expected server.out
    check "all of which were served" is "$(ask 'end["clients"][0]["served_bytes"] == end["bytes_in"]')" True
    open_server --json wordcount small? small??
    unshare -m bash -c "for d in small? small??; do mount --bind empty \$d; done; ulimit -f 2000; exec '$WEFT' client -q -n 2 '$at'" &
    clients+=($!)
    all_end
    check "a client whose files may not be as large as all of them" is "$code $codes" "0 0 "
    same "gives the same bytes" expected server.out

    # A file of which a client has read a part is replaced by other bytes.
    mkdir changing
    seq 1 8000000 >changing/numbers
    open_server --lines-per-task 200000 --shell --map 'sleep 0.2; wc -l' changing/numbers
    unshare -m bash -c "mount --bind empty changing; exec '$WEFT' client -n 1 '$at'" 2>>client.log &
    clients+=($!)
    hears ' has joined '
    sleep 0.5
    seq 8000001 15000000 >changing/numbers
    all_end
    check "a lent file that changes ends the job" is "$code" 1
    check "with its name" hears 'changing/numbers has changed since the job began$'
    check "and a line on what to do" hears '^  try: run it again when nothing writes to the file'
else
    skip "3,000 inputs of a server by a client with 256 descriptors" "no mount namespaces"
fi

# ---- inputs on a file system that takes long --------------------------------------------------------------

# join_slow MS: a client in which each open of a file below slow/ takes that long; the worker does not open them slowly.
join_slow() {
    LD_PRELOAD=$E2E_TOOLS/slowopen.so WEFT_SLOW_DIR=$PWD/slow/ WEFT_SLOW_MS=$1 "$WEFT" client -q -n 1 "$at" >>client.log 2>&1 &
    clients+=($!)
}

if ldd "$WEFT" >/dev/null 2>&1; then
    mkdir slow
    head -c 100000 words >slow/words
    answer wordcount "$PWD/slow" >expected
    open_server --json wordcount "$PWD/slow"
    join_slow 2500
    all_end
    check "a client whose files take long to open" is "$code $codes" "0 0 "
    same "gives the same bytes" expected server.out
    check "and answers meanwhile" is "$(ask '[e["event"] for e in events if e["event"] in ("silent", "lost", "back")]')" "[]"
    for ((i = 0; i < 500; i++)); do echo "word$i and others" >"slow/$i"; done
    answer wordcount "$PWD/slow" >expected
    open_server --json wordcount "$PWD/slow"
    join_slow 8
    all_end
    check "a client with many small files that take long to open" is "$code $codes" "0 0 "
    same "gives the same bytes, too" expected server.out
    check "some of which it reads itself, and others from the server" is \
        "$(ask '0 < end["clients"][0]["served_bytes"] < end["bytes_in"]')" True
else
    skip "a client whose files take long to open" "the command takes no preloaded library"
fi

# ---- messages and exit codes -------------------------------------------------------------------------------

open_server wordcount words -o answer
fails_with "two servers at one port" 3 'the port is taken' weft server --listen "$at" wordcount words
WEFT_TOKEN=ffffffffffffffffffffffffffffffff fails_with "another token" 5 'token' weft client "$at"
fails_with "no address" 2 'is not a port' weft client ':x'
WEFT_JOIN_MS=1500 fails_with "a client says what it waits for" 3 'waiting for a server at localhost:1$' weft client localhost:1
fails_with "no such host" 3 'no.such.host' weft client no.such.host.invalid:1
kill -INT $server
wait $server
check "Ctrl-C ends a server" is "$?" 130
check "with a sentence" grep -q 'stopped by a signal' server.err
check "which leaves no output" is "$(find . -name '*answer*')" ""
check "nor its port file" test ! -e port
open_server -q --timeout 500ms wordcount words
wait $server
check "a server without clients gives up at --timeout" is "$?" 6

# Ctrl-C at a client, and at a server with clients: no process, file or port is left.
open_server "${slowly[@]}" -o answer
join 2
hears ' has joined .*2 now'
kill -INT "${clients[0]}"
wait "${clients[0]}"
check "Ctrl-C ends a client" is "$?" 0
kill -INT $server
wait $server
check "and a server with another one" is "$?" 130
wait "${clients[1]}"
check "whose client ends with the job" is "$?" 0
clients=()
check "none of their processes is left" is "$(pgrep -f "$at|$dir/tmp" | wc -l)" 0
check "no output is left" is "$(find . -name '*answer*')" ""
check "no temporary file is left" is "$(ls -A "$TMPDIR")" ""
check "no port is left" is "$(
    exec 2>/dev/null
    : <"/dev/tcp/localhost/${at##*:}" && echo open
)" ""

# What a client's command says on its standard error comes back as an error of the job.
open_server --max-attempts 1 --shell --map 'printf "\033[2Jnot \303\266nly\r this\n" >&2; exit 3' numbers
join 1
all_end
check "a job fails whose command does" is "$code" 1
check "what it said is there" grep -q 'not önly' server.err
check_not "but nothing in it moves the cursor" grep -q "$(printf '[\033\r]')" server.err

# Programs that do not fit together.
if ldd "$WEFT" >/dev/null 2>&1; then
    open_server -q wordcount words
    export LD_PRELOAD=$E2E_TOOLS/othersides.so
    for version in 0 2 99; do
        WEFT_SAYS_VERSION=$version fails_with "a client that speaks version $version of the wire" 1 \
            "speaks wire version $version, .*" weft client "$at"
        check "it says what to do" grep -q 'try: run the same version on both sides' "$err"
    done
    WEFT_SAYS_ARCHITECTURE=vax fails_with "a client on another architecture" 2 \
        "it runs on $(uname -m), and programs for that do not run on vax" weft client "$at"
    unset LD_PRELOAD
    join 1
    all_end
    check "the server is none the worse for them" is "$code $codes" "0 0 "
else
    skip "programs that do not fit together" "the command takes no preloaded library"
fi

fails_with "a server has no slots" 2 'try: weft client -n 2' weft server --listen localhost:0 -n 2 wordcount words
fails_with "nor workers of its own" 2 'weft client on each machine' weft server --listen localhost:0 --workers 2 wordcount words

# A machine whose name would move the cursor of the server's terminal.
if is_root && unshare -u true 2>/dev/null; then
    open_server wordcount words
    unshare -u sh -c 'printf "a\033[2Jb" >/proc/sys/kernel/hostname && exec "$@"' - "$WEFT" client -q -n 1 "$at" >hostile.log 2>&1
    check "a client with an escape sequence in its name is refused" is "$?" 2
    check "it says why" grep -q 'characters that cannot be printed' hostile.log
    join 1
    all_end
    check "the job ends without it" is "$code $codes" "0 0 "
    check_not "nothing of the name reaches the server" grep -q "$(printf '\033')" server.err
else
    skip "a client with an escape sequence in its name is refused" "only root can name a machine"
fi

finish
