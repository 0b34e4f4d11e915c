#!/bin/bash
# Processes without the token, at the port of a host or between it and its clients: they can be in the way, and
# that is all. Nothing that they say is believed, nothing that they change is taken.
# also: asan
# takes long
. "$(dirname "$0")/lib.sh"
unset WEFT_AT TF_CONFIG
export WEFT_TOKEN=00112233445566778899aabbccddeeff

read -r port relay_port < <(free_ports 2)
others=()
stop_others() {
    local pid
    for pid in "${others[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
    others=()
}
trap 'stop_others; cleanup' EXIT
until_ready() { for ((i = 0; i < 500; i++)); do grep -qs ready "$1" && return; sleep 0.02; done; false; }
# other TOOL WORDS...: one of the tools in the background, and listening; what it prints is in other.out.
other() {
    : >other.out
    python3 "$e2e/tools/$1.py" "${@:2}" >other.out 2>other.err &
    others+=($!)
    until_ready other.out
}
start_host() {
    rm -f port_file
    "$WEFT" host --listen "127.0.0.1:$port" --port-file port_file >host.out 2>host.err &
    others+=($!)
    for ((i = 0; i < 500; i++)); do [ -e port_file ] && return; sleep 0.02; done
    false
}

# --- an impostor at the port --------------------------------------------------------------------------

# What ends a wait with 0 or 7 must come from a host that has proven itself.
is_no_end() {
    timeout 30 "$WEFT" queue take --at "127.0.0.1:$port" --wait 200ms q >"$out" 2>"$err"
    code=$?
    [ ! -s "$out" ] && [ -s "$err" ] && ! grep -q $'\x1b' "$err" &&
        case $code in 3 | 5) true ;; *) echo "exit $code" && cat "$err" && false ;; esac
}
for ((how = 1; how <= 17; how++)); do
    other impostor "$port" $how
    check "refusal $how of an impostor is no end" is_no_end
    stop_others
done
for how in alert close-notify unknown-key handshake-failure garbage http welcome answers challenge nothing; do
    other impostor "$port" $how
    check "\"$how\" of an impostor is no end" is_no_end
    stop_others
done
other impostor "unix:$port" 11
check "nor is a refusal over the Unix socket without a proof" is_no_end
stop_others

for how in 11 5 9 10 16 alert garbage; do
    other impostor "$port" $how 2
    timeout 60 "$WEFT" queue take --at "127.0.0.1:$port" --wait 20s real >taken 2>"$err" &
    taker=$!
    wait "${others[0]}" # it goes after two meetings
    others=()
    start_host
    "$WEFT" queue push --at "127.0.0.1:$port" real "item $how"
    wait $taker
    check "after \"$how\" of an impostor the host is met when it comes" is "$?/$(cat taken)" "0/item $how"
    stop_others
done
check_not "an impostor's words reach no terminal" grep -q $'\x1b' "$err"

# --- a squatter on the name of the Unix socket -----------------------------------------------------------

python=$(for it in python3 /usr/bin/python3; do as_nobody "$it" -c '' 2>/dev/null && echo "$it" && break; done)
if is_root && can_be_nobody && [ -n "$python" ]; then
    copy=$dir/tools && cp -r "$e2e/tools" "$copy" && chmod -R a+rX "$copy" "$dir"
    # Not as_nobody: of a function in the background, the pid would be a shell's, and the impostor would outlive it.
    SQUAT_UID=0 setpriv --reuid=65534 --regid=65534 --clear-groups "$python" "$copy/impostor.py" \
        "unix:$port" 11 >squat.out 2>squat.err &
    squatter=$!
    until_ready squat.out
    start_host
    check "another user on the name of the Unix socket keeps nobody out" \
        "$WEFT" queue push --at "127.0.0.1:$port" near x
    check "what was pushed is there" is "$("$WEFT" queue take --at "127.0.0.1:$port" near)" x
    check "the squatter was met, and left alone" grep -q met squat.out
    kill $squatter && wait $squatter 2>/dev/null
    stop_others
else
    skip "another user on the name of the Unix socket" "only root can become one, with a Python for all"
fi

# --- in between ------------------------------------------------------------------------------------------

start_host
host=${others[0]}
near() { "$WEFT" queue "$1" --at "127.0.0.1:$port" "${@:2}"; }
through() { timeout 60 "$WEFT" queue "$1" --at "127.0.0.1:$relay_port" --wait 20s "${@:2}"; }
between() {
    [ ${#others[@]} -lt 2 ] || { kill "${others[1]}" && wait "${others[1]}"; } 2>/dev/null
    others=("$host")
    other relay "$relay_port" "$port" "$@"
}
between pass
check "a relay that changes nothing may stand in between" through push plain x
check "what it carried is there" is "$(near take plain)" x
between swap 'pay alice' 'pay mallo'
through push pay 'pay alice' 2>"$err"
check "a relay cannot put its own words in" is "$(near take --timeout 5s pay)" "pay alice"
seq 3000 >expected
for every in 10 40; do
    between flip $every
    seq 3000 | through push "flipped$every" 2>"$err"
    for ((i = 0; i < 10; i++)); do through push "single$every" $i 2>>"$err"; done
    near close "flipped$every"
    gives "bits that flip (one piece in $every) cost time and nothing else" expected \
        near take --all "flipped$every"
    check "also where each item has a connection of its own" is "$(near take --timeout 5s -n 10 "single$every" | xargs)" "$(seq 0 9 | xargs)"
done
between record said.json
check "a relay may record" through push once 'the one'
between pass
for ((i = 0; i < 5; i++)); do python3 "$e2e/tools/relay.py" 0 "$port" replay said.json; done >replays
check "what was recorded counts once, however often it is said" is "$(near peek -n 9 once)" "the one"
check "it was said" [ "$(grep -c . replays)" -ge 5 ]
check "and the host serves on" is "$(near size once)" 1
check "it says little of all that" [ "$(wc -l <host.err)" -le 12 ]
stop_others
finish
