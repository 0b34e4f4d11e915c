#!/bin/bash
# Clients and servers that have the token and keep to no rule: a server drops such clients and its job ends well; a client of such a server ends, or goes on.
# also: asan
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

peers=60
is_sanitized && peers=30
is_long && peers=2000
seed=${WEFT_SEED:-$RANDOM}
generate words 600000 881 >words
answer wordcount words >expected

hostile() { timeout 1500 python3 -B "$e2e/tools/hostile_peer.py" "$@"; }

# ---- Clients ----------------------------------------------------------------------------------------------------

open_server wordcount words
hostile client "$at" $WEFT_TOKEN "$seed" $peers
check "a server outlives $peers hostile clients (WEFT_SEED=$seed)" kill -0 $server
join 2
all_end
check "and its job ends well" is "$code $codes" "0 0 0 "
same "with the same bytes" expected "$out"
check_not "nothing of them moves the cursor" grep -q $'\e' "$err"

# ---- Servers ----------------------------------------------------------------------------------------------------

read -r port < <(free_ports 1)
hostile server "$port" $WEFT_TOKEN "$seed" $((peers / 2)) >ready 2>hostile.err &
hostile=$!
await '[ -s ready ]'
export WEFT_REJOIN_MS=300 WEFT_JOIN_MS=300
ended=
while kill -0 $hostile 2>/dev/null; do
    # One that is told nothing of use waits for more, as for any server.
    timeout -s KILL 60 corral -l "$left" -- timeout -k 10 4 "$WEFT" client -n 1 "localhost:$port" >>client.log 2>&1
    ended+="$? "
done
wait $hostile
check "clients of a hostile server end by themselves, or when they are asked to" test -z "$(tr ' ' '\n' <<<"$ended" | grep -vxE '|[0-5]|124|143')"
check_not "nothing of it moves the cursor" grep -q $'\e' client.log
note <<<"clients ended with $ended"

finish
