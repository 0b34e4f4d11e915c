#!/bin/bash
# `weft host --repair`: a damaged journal is shown and cut, after a question; what is not ours to cut stays.
# also: asan
# takes long
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG WEFT_JOURNAL
segment() { python3 "$e2e/tools/segment.py" "$@"; }
trap 'kill ${pid:-} 2>/dev/null; cleanup' EXIT

# host DIR: starts a host with that journal, waits until it is ready.
host() {
    rm -f port
    "$WEFT" host --listen localhost:0 --journal "$1" --port-file port >/dev/null 2>host.err &
    pid=$!
    until [ -s port ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    WEFT_AT=localhost:$(cat port 2>/dev/null)
    export WEFT_AT
}
host_ends() { kill $pid && wait $pid; }
repair() { try "$WEFT" host --journal "$@" --repair </dev/null; }
# What the files of a journal hold, but for the lock.
sums() { (cd "$1" && find . -type f ! -name journal-lock -exec sha256sum {} + | sort -k 2); }
# taken DIR: what a host finds in the queue q.
taken() {
    host "$1"
    [ -s port ] || { cat host.err && return; }
    weft queue close q
    weft queue take q --all | cut -c1-8 | tr '\n' ' '
    host_ends
}
# A fresh copy of a journal as ./j.
fresh() { rm -rf j && cp -a "$1" j; }

# --- a flipped bit -----------------------------------------------------------------------------------------

host whole
weft queue push q one
weft queue push q two
weft var set total 17
weft var set --type bytes words $'say "hello"\n'
weft kv put seen a 1
weft queue push q three
weft queue push q four
weft var set total 99
host_ends
first=journal-000001
n=$(grep -abo three whole/$first | tail -n 1 | cut -d: -f1)
victim=$(($(segment records whole/$first | awk -v n="$n" '$1 < n' | wc -l) - 1)) # the record with "three"
fresh whole
segment flip j/$first $victim
at=$(segment records j/$first | sed -n "$((victim + 1))p")

try "$WEFT" host --listen localhost:0 --journal j
check "a damaged journal ends a host" is $code 1
says "it says where" "j/$first is damaged at offset $at"
says "and what to do" "try: weft host --journal j --repair"
mkdir "o'brien's" && cp -a j "o'brien's/j 1"
try "$WEFT" host --listen localhost:0 --journal "o'brien's/j 1"
says "by a line that a shell understands" "--journal 'o'\\\\''brien'\\\\''s/j 1' --repair"

before=$(sums j)
repair j
check "without a terminal and without --yes it is damage, too" is $code 1
says "which is said" "j is damaged; nothing was changed, as there is no terminal to ask at"
says "with the next step" "try: weft host --journal j --repair --yes"
check "and nothing has changed" is "$(sums j)" "$before"
has() { check "$1" grep -qF -- "$2" "$out"; }
has "it shows the place" "j/$first is damaged at offset $at"
has "what is kept" "kept: $victim records before it, $(echo "$at" | sed -E 's/([0-9])([0-9]{3})$/\1,\2/') bytes"
check "what is lost" grep -qE 'lost: [0-9,]+ bytes from there on, in 1 file; [1-9][0-9]* records? among them can be read' "$out"
has "queues with their counts" "queue    q: 2 elements"
has "variables with their values" "var      total: 17"
has "on one line each" 'var      words: "say \"hello\"\n"'
has "maps" "kv       seen: 1 key"
has "and where the files will be" "j/damaged-1"

try "$WEFT" host --journal j --repair --json </dev/null
check "the same in JSON" is $code 1
head -n 1 "$err" >object
check "as an object" python3 - "$at" <<'PYTHON'
import json, sys
damage = json.load(open("object"))
assert damage["event"] == "damage" and damage["offset"] == int(sys.argv[1]), damage
assert {"kind": "var", "name": "total", "holds": "17"} in damage["holds"], damage
assert damage["lost_bytes"] > 0 and damage["lost_readable_records"] > 0 and damage["lost_files"] == 1, damage
PYTHON

# On a terminal it asks.
cat >terminal.py <<'PYTHON'
import os, pty, sys
answer, command = sys.argv[1], sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(command[0], command)
seen = b""
while b"[y/N] " not in seen:
    more = os.read(fd, 4096)
    if not more:
        sys.exit("it does not ask")
    seen += more
os.write(fd, answer.encode() + b"\n")
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PYTHON
on_terminal() { try timeout 60 python3 terminal.py "$1" "$WEFT" host --journal j --repair; }
for answer in n '' nonsense; do
    on_terminal "$answer"
    check "on a terminal it asks; '$answer' changes nothing" is "$code $(sums j)" "1 $before"
done
on_terminal y
check "and y repairs" is $code 0
cp whole/$first flipped && segment flip flipped $victim
check "a copy is kept" cmp j/damaged-1/$first flipped
check "for us alone" is "$(stat -c %a j/damaged-1 j/damaged-1/$first | tr '\n' ' ')" "700 600 "
repair j
check "a sound journal is not repaired" is "$code $(grep -c 'is sound' "$out")" "0 1"
check "and there is no second copy" test ! -e j/damaged-2
host j
check "a host goes on with what was kept" is "$(weft queue size q) $(weft var get total)" "2 17"
weft queue push q later
host_ends
check "and keeps what comes" is "$(taken j)" "one two later "

# A second damage, and --yes.
segment flip j/$first 3
repair j --yes
check "--yes repairs without a question" is $code 0
check "each repair has its own copy" test -s j/damaged-2/$first -a -s j/damaged-1/$first

# A record with the right checksum that does not fit to what was before.
fresh whole
segment misfit j/$first $victim
try "$WEFT" host --listen localhost:0 --journal j
check "a record that nobody knows ends a host" is $code 1
says "by a sentence" "a record of an unknown type"
repair j --yes
check "the journal is cut before it" is "$code $(grep -c "is damaged at offset $at: record" "$out") $(taken j)" "0 1 one two "

# --- several segments --------------------------------------------------------------------------------------

host long
for i in 1 2 3; do # each fills a segment
    { printf 'large-%s-' $i && head -c 17000000 /dev/zero | tr '\0' x && echo; } >line
    weft queue push q <line
    weft queue push q small-$i
done
host_ends
rm -f line
segments=(long/journal-00000[0-9])
check "a journal of several segments" test -e long/journal-000003

fresh long
segment cut j/journal-000002 -1
repair j
check "a cut segment in the middle of others is damage" is "$code" 1
has "that names it" "j/journal-000002 is damaged at offset"
check "all behind it is lost" grep -qE "in $((${#segments[@]} - 1)) files; [1-9]" "$out"
repair j --yes
check "it is repaired" is "$code" 0
check "all files that have changed are kept" is "$(cd j/damaged-1 && echo *)" \
    "$(basename -a "${segments[@]:1}" | tr '\n' ' ' | sed 's/ $//')"
check "what was before is there" is "$(taken j)" "large-1- small-1 "

fresh long
rm j/journal-000002
try "$WEFT" host --listen localhost:0 --journal j
check "a missing segment is damage" is "$code" 1
says "which is said" "journal-000003 is there, the segment before it is missing"
repair j --yes
check "it is repaired" is "$code" 0
check "what was before is there" is "$(taken j | cut -c1-9)" "large-1- "

fresh long
rm j/journal-000001
repair j --yes
check "without its first segment nothing is left" is "$code $(grep -c '^    nothing$' "$out")" "0 1"
host j
check "and a host begins anew" is "$(weft queue ls)" ""
host_ends

# A newer version is not ours to cut, wherever it stands.
for damage in no yes; do
    fresh long
    segment version j/journal-000003 7
    [ $damage = yes ] && segment flip j/journal-000001 1
    before=$(sums j)
    repair j --yes
    check "the journal of a newer weft is refused (damage before it: $damage)" is "$code" 1
    says "and says why" "written by a newer weft"
    check "and nothing has changed" is "$(sums j)" "$before"
done

# A file that cannot be read.
if is_sanitized; then
    skip "a file that cannot be read" "a sanitizer wants to be the first library that is loaded"
else
    for file in journal-000001 journal-000003; do
        fresh long
        segment flip j/journal-000002 0
        before=$(sums j)
        try env LD_PRELOAD="$E2E_TOOLS/ioerror.so" WEFT_IOERROR_DIR="$PWD/j" WEFT_IOERROR_READ=$file \
            "$WEFT" host --journal j --repair --yes
        check "a file that cannot be read is not taken for damage ($file)" test "$code" != 0
        says "which is said" "cannot read .*$file.*input/output error"
        check "and nothing has changed" is "$(sums j)" "$before"
    done
fi

# A full disk.
mkdir small
if is_root && mount -t tmpfs -o size=36m none "$PWD/small" 2>/dev/null; then
    trap 'kill ${pid:-} 2>/dev/null; umount "$dir/work/small"; cleanup' EXIT
    mkdir small/j
    cp long/journal-000001 small/j
    segment flip small/j/$first 1
    head -c 18000000 /dev/zero >small/filler
    before=$(sums small/j)
    repair small/j --yes
    check "without room for the copy nothing is changed" is "$(sums small/j)" "$before"
    says "which is said" "nothing was changed, as the files could not be copied: .*no space left"
    check "by a failure" test "$code" != 0
    umount small
    trap 'kill ${pid:-} 2>/dev/null; cleanup' EXIT
else
    skip "a full disk" "only root can make a small one"
fi

# --- a torn tail -------------------------------------------------------------------------------------------

fresh whole
segment cut j/$first -1
repair j --yes
check "a torn tail is no damage" is "$code $(grep -c 'is sound' "$out") $(grep -c 'half written' "$out")" "0 1 1"
host j
check "a host cuts it off by itself" is "$(weft queue size q) $(weft var get total)" "4 99"
host_ends

# --- what is refused ---------------------------------------------------------------------------------------

fresh whole
segment flip j/$first 2
cp -a j/$first saved
cp whole/$first j/$first
host j
kill -STOP $pid  # it may still have something to write
cp saved j/$first
repair j --yes
check "a journal that is in use is not repaired" is "$code" 3
says "and says who has it" "j is in use"
check "and nothing has changed" cmp saved j/$first
kill -9 $pid && wait $pid 2>/dev/null

fails_with "no journal there" 4 'there is no journal of a host in nowhere' "$WEFT" host --journal nowhere --repair
check "nothing is made there" test ! -e nowhere
mkdir empty
fails_with "an empty directory" 4 'ROLE-INDEX' "$WEFT" host --journal empty --repair --yes
check "nothing is made there, either" rmdir empty
fails_with "--repair alone" 2 'needs the journal' "$WEFT" host --repair
fails_with "--yes alone" 2 'only for --repair' "$WEFT" host --yes
fails_with "--repair and --listen" 2 'does not host' "$WEFT" host --repair --journal j --listen :0

# --- a member's journal ------------------------------------------------------------------------------------

compile own_queue
member() { weft cluster run --no-prefix --role w=1 --journal "$PWD/own" -- env WHEN="$PWD/when" ./own_queue; }
member >/dev/null 2>&1
member >/dev/null 2>&1
n=$(segment records own/w-0/$first | wc -l)
segment flip own/w-0/$first $((n / 2))
try member
check "a member with a damaged journal ends by a failure" test "$code" != 0
says "and names the next step" "try: weft host --journal $PWD/own/w-0 --repair"
repair own/w-0
has "which names what the member hosts" "queue    /w/0/q: "
repair own/w-0 --yes
try member
check "after the repair it goes on" is "$code" 0

# --- who was told of what is lost --------------------------------------------------------------------------

compile host
compile adder
read -r -a ports < <(free_ports 2)
task() { # ROLE PROGRAM...: becomes a member of two
    exec env TF_CONFIG="{\"cluster\": {\"host\": [\"localhost:${ports[0]}\"], \"adder\": [\"localhost:${ports[1]}\"]},
        \"task\": {\"type\": \"$1\", \"index\": 0}}" WEFT_EXPECT=1s "${@:2}"
}
host_starts() {
    rm -f host.in host.out
    mkfifo host.in
    WEFT_SESSION_TTL=4s WEFT_JOURNAL=$PWD/kept task host ./host <host.in >host.out 2>>kept.err 9>&- &
    pid=$!
    exec 8>host.in
    until grep -qs ready host.out || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
}
adds() { # LINES so far, once it is added
    echo add >&9
    until [ "$(wc -l <adder.out)" = "$1" ] || ! kill -0 $adder 2>/dev/null; do sleep 0.02; done
}
# scene N: four adds, the journal damaged at record N and repaired, one more add.
scene() {
    rm -rf kept adder.in adder.out
    host_starts
    mkfifo adder.in
    task adder ./adder <adder.in >adder.out 2>adder.err 8>&- &
    adder=$!
    exec 9>adder.in
    until [ -e adder.out ]; do sleep 0.02; done
    for i in 1 2 3 4; do adds $i; done
    { kill -9 $pid && wait $pid; } 2>/dev/null
    exec 8>&-
    segment flip kept/host-0/$first "$1"
    repair kept/host-0 --yes
    host_starts
    adds 5
    exec 9>&-
    wait $adder
    added=$?
    echo >&8
    exec 8>&-
    wait $pid
}
scene -3
check "who had been answered what is cut off hears of it" is "$(tr '\n' ' ' <adder.out)$added" 'OK OK OK OK DATA_LOSS 1'
check "so does the host" grep -q 'refused /adder/0: .*was repaired' kept.err
scene 1
check "also when not even its session is left" is "$(tr '\n' ' ' <adder.out)$added" 'OK OK OK OK DATA_LOSS 1'
finish
