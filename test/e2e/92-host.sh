#!/bin/bash
# weft host: beginning and end, its journal, its address, its secret.
# also: asan
# takes long
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

# host NAME ARGUMENT...: starts one, waits until it is ready; its port is in NAME.port, its number in $pid.
host() {
    local name=$1
    shift
    "$WEFT" host --port-file "$name.port" "$@" >"$name.out" 2>"$name.err" &
    pid=$!
    until [ -s "$name.port" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    port=$(cat "$name.port" 2>/dev/null)
}
# stop [SIGNAL]: ends it; its exit code is in $code.
stop() {
    kill "${1:--TERM}" "$pid"
    wait "$pid" 2>/dev/null
    code=$?
}

# --- beginning and end -------------------------------------------------------------------------------

host a --listen localhost:0
check "the port file has the port" grep -qx '[0-9]*' a.port
check "it says how it is used" grep -q "weft queue push --at localhost:$port jobs hello" a.out
check "what it says works" sh -c "PATH=$(dirname "$WEFT"):\$PATH; $(cat a.out)"
weft queue push --at "localhost:$port" jobs one two
is "$(weft queue size --at "localhost:$port" jobs)" 3 || not_ok "three are there"
fails_with "a port that is taken is refused" 3 "$port: the port is taken" weft host --listen "localhost:$port"
stop -TERM
check "a signal ends it well" is $code 0
check "what is lost is said" grep -q '3 elements in 1 queue are gone; --journal DIR' a.err
check_not "the port file is gone" test -e a.port
host a --listen localhost:0
first=$pid before=$port
"$WEFT" host --port-file a.port --listen localhost:0 >a.out 2>a.err &
pid=$!
until [ "$(cat a.port)" != "$before" ]; do sleep 0.02; done
kill "$first" && wait "$first"
check "a host that ends leaves the port file of another one" test -e a.port
stop
check_not "which removes it" test -e a.port
mkdir taken.port
fails_with "a port file that cannot be written" 2 "taken.port" weft host --listen localhost:0 --port-file taken.port
check_not "leaves nothing behind" test -e taken.port.unfinished
echo precious >notes
fails_with "a port file that is another file is refused" 5 'notes exists already and is not a port file' \
    weft host --listen localhost:0 --port-file notes
fails_with "by a server too" 5 'notes exists already and is not a port file' \
    weft server --listen localhost:0 --port-file notes wordcount notes
is "$(cat notes)" precious || not_ok "it stays"
mkfifo named
fails_with "so is one that is not a file" 2 'named is a device or a pipe' weft host --listen localhost:0 --port-file named
check "which stays, too" test -p named
: >a.port # as mktemp makes it
host a --listen localhost:0
stop
fails_with "nobody there: exit 3, and what to do" 3 "try: weft host" \
    weft queue size --at "localhost:$port" --wait 200ms jobs

# Nothing names a host: the one of this machine is meant. A network of its own has no other one.
cat >alone <<'END'
python3 -c 'import fcntl, socket, struct
s = socket.socket()
fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))' || exit 9 # SIOCSIFFLAGS: up and running
"$WEFT" queue size --wait 100ms jobs 2>nobody
"$WEFT" host >/dev/null 2>&1 &
"$WEFT" queue push jobs one two && "$WEFT" queue size jobs >size && "$WEFT" var add hits 3 >hits
code=$?
kill $! && wait $!
exit $code
END
if unshare -rn true 2>/dev/null; then
    check "a command without --at finds weft host" unshare -rn sh ./alone
    check "a queue" is "$(cat size)" 2
    check "a variable" is "$(cat hits)" 3
    check "without one it says how to get one" grep -q 'try: weft host, in another shell' nobody
    check "and where it has looked" grep -q 'localhost:18125' nobody
else
    skip "a command without --at finds weft host" "needs a network of its own"
fi
fails_with "words are refused" 2 "takes no arguments" weft host now
fails_with "an address that is none" 2 "listen" weft host --listen 'a b:c'

host q --listen localhost:0 -q --json
check "json tells that it is ready" grep -q "{\"event\":\"ready\",\"address\":\"localhost:$port\",\"port\":$port,\"journal\":null}" q.err
check_not "and nothing else is printed" test -s q.out
stop -HUP
check "a hangup ends it as well" is $code 0

# --- the journal --------------------------------------------------------------------------------------

host j --listen localhost:0 --journal kept
export WEFT_AT=localhost:$port
seq 1000 | weft queue push jobs
weft queue take -n 10 jobs >/dev/null
weft var add hits 41 >/dev/null
weft kv put conf rate 0.1
# A push that was under way when its host died waits a minute for it: it is ended here.
(i=1001 && while timeout 2 "$WEFT" queue push --wait 100ms jobs $i 2>/dev/null; do echo $i >acknowledged && i=$((i + 1)); done) &
pusher=$!
until [ -s acknowledged ]; do sleep 0.02; done
sleep 0.3
stop -9
wait $pusher
rm -f j.port
host j --listen localhost:0 --journal kept
export WEFT_AT=localhost:$port
weft queue close jobs
weft queue take --all jobs >taken
# The one that was under way may be there as well.
check "after kill -9 all that was acknowledged is there" \
    sh -c "seq 11 \$(cat acknowledged) | diff - taken | grep -c '^<' | grep -qx 0"
check "and nothing twice" sh -c 'is=$(sort taken | uniq -d) && [ -z "$is" ]'
check "variables too" is "$(weft var add hits 1)" 42
check "and maps" is "$(weft kv get conf rate)" 0.1
stop
check_not "nothing is lost" grep -q gone j.err
unset WEFT_AT

# --- another address: TLS and a token -----------------------------------------------------------------

address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 '^[0-9.]*$')
if [ -z "$address" ]; then
    skip "TLS" "this machine has no address but localhost"
else
    host t --listen "$address:0"
    joins=$(sed 's/.*--at \([^ ]*\) .*/\1/' t.out)
    check "the line that joins has a token" grep -Eq "^weft queue push --at $address:$port#[0-9a-f]{32,} jobs" t.out
    check_not "which shows nowhere else" grep -q "${joins#*#}" t.err
    check "it joins" weft queue push --at "$joins" jobs hello
    check "by WEFT_AT too" env WEFT_AT="$joins" "$WEFT" queue size jobs
    check "and by WEFT_TOKEN" env WEFT_TOKEN="${joins#*#}" "$WEFT" queue size --at "$address:$port" jobs
    wrong=$(printf '%032x' 1)
    fails_with "a wrong token is refused" 5 "token" \
        weft queue size --at "$address:$port#$wrong" --wait 3s jobs
    fails_with "so is none" 5 "token" weft queue size --at "$address:$port" --wait 3s jobs
    fails_with "and one that is no token" 2 "token" weft queue size --at "$address:$port#xyz" jobs
    "$WEFT" queue take --at "$joins" waits & # nothing comes
    taker=$!
    until grep -q take "/proc/$taker/cmdline"; do sleep 0.02; done
    sleep 0.1
    check_not "the list of processes does not show the token" grep -aq "${joins#*#}" "/proc/$taker/cmdline"
    kill $taker
    wait $taker 2>/dev/null
    weft queue push --at "$joins" jobs again && weft queue close --at "$joins" jobs
    check "a command for an item finds the host, and has its token" \
        env WEFT_TOKEN="$wrong" "$WEFT" queue take --at "$joins" jobs -- sh -c '"$0" var add seen 1' "$WEFT"
    check "both items were counted" is "$(weft var get --at "$joins" seen)" 2
    weft queue push --at "$joins" jobs2 one && weft queue close --at "$joins" jobs2
    check "by WEFT_AT as well" env WEFT_AT="$joins" "$WEFT" queue take jobs2 -- sh -c '"$0" var add seen 1' "$WEFT"
    stop
    (umask 077 && printf '%064d\n' 7 >token)
    host f --listen "$address:0" --token-file token
    check "a token of a file is not printed" grep -q "at $address:$port jobs" f.out
    check "and joins" weft queue push --at "$address:$port" --token-file token jobs hello
    weft queue close --at "$address:$port" --token-file token jobs
    check "commands have it, too" weft queue take --at "$address:$port" --token-file token jobs -- \
        sh -c '"$0" var add seen 1' "$WEFT"
    stop
fi

# As many clients as a host may have connections.
rm -f a.port
(ulimit -n 40 && exec "$WEFT" host --port-file a.port --listen localhost:0) >a.out 2>a.err &
pid=$!
until [ -s a.port ]; do sleep 0.02; done
WEFT_AT=localhost:$(cat a.port)
export WEFT_AT
takers=()
for i in $(seq 22); do # two more than it has room for: one that comes late must not make it wait for ever
    "$WEFT" queue take -q --wait 2m "q$i" 2>/dev/null &
    takers+=($!)
done
full='it has 20 connections, as many as its limit of open files allows'
for _ in $(seq 60); do
    weft queue push --wait 1s x y 2>full.err
    grep -q "$full" full.err && break
    sleep 0.2
done
check "who finds no room at a host is told why" grep -q "$full" full.err
kill "${takers[@]}" && wait "${takers[@]}"
check "and gets in when others have left" weft queue push x y
stop
finish
