#!/bin/bash
# Hosts and those who mean no good: refused or dropped, told of once, and everybody else is served.
# also: asan
# takes long
. "$(dirname "$0")/lib.sh"

compile host || { not_ok "the host of this test can be built" && finish; }
export WEFT_TOKEN=00112233445566778899aabbccddeeff WEFT_SESSION_TTL=2s WEFT_EXPECT=1s
is_sanitized && export HOSTILE_SLACK=3

# start_host ADDRESS [COMMAND...]: in $host; its output in host.out and host.err.
start_host() {
    local address=$1
    shift
    rm -f host.in && mkfifo host.in
    TF_CONFIG="{\"cluster\":{\"host\":[\"$address\"]},\"task\":{\"type\":\"host\",\"index\":0}}" \
        "$@" ./host <host.in >host.out 2>host.err &
    host=$!
    exec 3>host.in
    until grep -qs ready host.out || ! kill -0 $host 2>/dev/null; do sleep 0.02; done
}
stop_host() {
    echo >&3
    exec 3>&-
    wait $host
}
attack() { timeout -k 5 "${2:-60}" python3 "$e2e/tools/hostile.py" "$1" "$target" $WEFT_TOKEN $host; }
lines_said() { wc -l <host.err; }

port=$(free_ports 1)
target=127.0.0.1:$port
start_host localhost:"$port"
check "the host serves" attack alive
for what in plain_on_tls wrong_token other_versions garbage cut_hello stolen_session broken_rules senseless_calls \
    sequence_games; do
    check "it survives: $what" attack $what
done
if [ "$(lines_said)" -ge 1 ] && [ "$(lines_said)" -le 20 ]; then
    ok "it says some of it, and not all"
else
    not_ok "it says $(lines_said) lines"
    note <host.err
fi
check "answers that nobody takes do not fill its memory" attack reads_nothing
check "answers that nobody confirms do not fill its memory" attack never_acknowledges
check "sessions without end do not fill its memory" attack session_flood 100
check "silent connections keep nobody out" attack silent 100
check "a stranger costs no more than it has said" attack strangers 100
python=$(for it in python3 /usr/bin/python3; do as_nobody "$it" -c '' 2>/dev/null && echo "$it" && break; done)
if is_root && can_be_nobody && [ -n "$python" ]; then
    copy=$dir/tools && cp -r "$e2e/tools" "$copy" && chmod -R a+rX "$copy" "$dir"
    check "another user of the machine stays out" as_nobody timeout 60 \
        "$python" "$copy/hostile.py" other_user "$target" 00 $host
else
    skip "another user of the machine stays out" "only root can become one"
fi
check "it ends by itself, with 0" stop_host

# --- few descriptors -----------------------------------------------------------------------------------

start_host localhost:"$port" prlimit --nofile=100 env WEFT_JOURNAL="$PWD/journal"
check "with few descriptors it serves others all the same" env HOSTILE_COUNT=400 timeout 60 \
    python3 "$e2e/tools/hostile.py" silent "$target" $WEFT_TOKEN $host
check "and ends with 0" stop_host

# --- between machines ------------------------------------------------------------------------------------

machine=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m 1 '^[0-9.]*$')
if [ -n "$machine" ]; then
    port=$(free_ports 1)
    target=$machine:$port
    start_host "$machine:$port"
    check "where TLS is spoken a plain client gets nowhere" attack plain_on_tls
    try timeout 10 openssl s_client -connect "$target" </dev/null
    check "TLS without the token gets nowhere" grep -q 'Cipher is (NONE)' "$out"
    check "it ends with 0" stop_host
else
    skip "over TLS" "this machine has no address but its own"
fi
finish
