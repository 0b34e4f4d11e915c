#!/bin/bash
# A bit changes on the disk of a worker or a client, in files that others read: what it made is made again, and the bytes are the same.
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

generate words 1500000 891 >words
cat >gate.sh <<'EOF'
#!/bin/sh
# Commands stop here until there is a file "go".
: >"$HOME/inside.$$"
until [ -e "$HOME/go" ]; do sleep 0.05; done
exec "$@"
EOF
chmod +x gate.sh
job=(--lines-per-task 4000 --reducers 12 --map 'tr " " "\n"' --reduce "$PWD/gate.sh uniq -c" words)

# descendants PID...: they and theirs.
descendants() {
    local child
    for child in $(cat /proc/"$1"/task/*/children 2>/dev/null); do echo "$child" && descendants "$child"; done
}

# nameless PID: the fullest file without a name that the process has open; copies of others' files have holes.
nameless() {
    local fd
    for fd in /proc/"$1"/fd/*; do
        case $(readlink "$fd") in "$TMPDIR"/*deleted*) echo "$(stat -L -c %b "$fd") $fd" ;; esac
    done | sort -n | tail -n 1 | cut -d' ' -f2
}

# flip FILE [PARTS]: changes a bit where one of so many parts of the file begins: in many places, so that each range of keys has some.
flip() {
    python3 - "$1" "${2:-100}" <<'EOF'
import os, sys
parts = int(sys.argv[2])
with open(sys.argv[1], "r+b", buffering=0) as file:
    size = os.fstat(file.fileno()).st_size
    for at in [size * part // parts for part in range(1, parts)]:
        byte = os.pread(file.fileno(), 1, at)
        os.pwrite(file.fileno(), bytes([byte[0] ^ 4]), at)
EOF
}

# spoil PID: changes bits in the map output of the first worker below the process.
spoil() {
    local worker file
    for worker in $(descendants "$1"); do
        file=$(nameless "$worker")
        [ -n "$file" ] && flip "$file" && return
    done
    false
}

begin() { rm -f "$HOME"/inside.* "$HOME/go"; }
are_inside() { [ "$(find "$HOME" -maxdepth 1 -name 'inside.*' | wc -l)" -ge "$1" ]; }
go() { : >"$HOME/go"; }

: >"$HOME/go"
answer "${job[@]}" >expected || exit 1

# ---- Workers of one machine ---------------------------------------------------------------------------------

begin
"$WEFT" run --workers 2 --slots 1 "${job[@]}" >"$out" 2>"$err" &
driver=$!
await "are_inside 2"
check "map output can be damaged" spoil $driver
go
wait $driver
check "a run whose map output is damaged ends well" is "$?" 0
same "with the same bytes" expected "$out"
says "it names the worker" 'map output of worker [0-9]* is damaged: [0-9]* tasks* (is|are) done again'

# Map output that the next run could use has a name.
: >"$HOME/go"
answer "${job[@]}" -o whole/
begin
"$WEFT" run --workers 2 --slots 1 "${job[@]}" -o parts/ 2>"$err" &
driver=$!
await "are_inside 2"
runs=(.parts.weft-unfinished/.weft-runs/*)
check "map output for the next run can be damaged" flip "${runs[0]}"
go
wait $driver
check "a run whose named map output is damaged ends well" is "$?" 0
check "with the same files" diff -r whole parts
says "which it reports" 'map output of worker [0-9]* is damaged: [0-9]* tasks* (is|are) done again'

# ---- Clients ------------------------------------------------------------------------------------------------

begin
open_server "${job[@]}"
join 2
await "are_inside 2"
check "that of a client, too" spoil "${clients[0]}"
go
all_end
check "a job whose map output is damaged at a client ends well" is "$code $codes" "0 0 0 "
same "with the same bytes as before" expected "$out"
says "the server names the client" 'map output of client .* is damaged: [0-9]* tasks* (is|are) done again'
check "no client is set aside for it" is "$(grep -c 'set aside' "$err")" 0
check "nothing is left" is "$(ls -A "$TMPDIR")" ""

# ---- Pairs between two stages -----------------------------------------------------------------------------------

# spoil_once PID: changes a byte in each file without a name that workers below the process have open.
spoil_once() {
    local worker fd spoilt=1
    for worker in $(descendants "$1"); do
        for fd in /proc/"$worker"/fd/*; do
            case $(readlink "$fd") in "$TMPDIR"/*deleted*) flip "$fd" 2 && spoilt=0 ;; esac
        done
    done
    return $spoilt
}

if compile five_stages; then
    seq 1 40000 >numbers
    stages=(--lines-per-task 1000 --reducers 4 ./five_stages numbers)
    answer "${stages[@]}" >expected
    begin
    export HOLDS=$HOME
    open_server "${stages[@]}"
    join 1
    # The first task of stage 3 is inside: all pairs of stage 2 are made, by this one.
    await "are_inside 1"
    check "pairs between stages can be damaged" spoil_once "${clients[0]}"
    join 1
    await '[ "$(grep -c "has joined" "$err")" = 2 ]'
    go
    all_end
    unset HOLDS
    check "a job whose pairs between stages are damaged at a client ends well" is "$code $codes" "0 0 0 "
    same "with the same bytes after that" expected "$out"
    says "the server names what is damaged, and the client" 'pairs between stages of client .* are damaged: [0-9]* tasks* (is|are) done again'
    [ "$bad" = 0 ] || note 20 <"$err"
fi

finish
