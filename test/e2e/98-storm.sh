#!/bin/bash
# Storms: a host that is killed again and again, and all its members who come back at once.
# also: asan
. "$(dirname "$0")/lib.sh"

compile storm || { not_ok "the program of this test can be built" && finish; }
members=200 adds=500 kills=5
is_long && kills=50 adds=5000
is_sanitized && members=40 adds=100
port=$(free_ports 1)
export TF_CONFIG="{\"cluster\": {\"host\": [\"localhost:$port\"]}, \"task\": {\"type\": \"host\", \"index\": 0}}"
export WEFT_JOURNAL=$PWD/journal

./storm host 2>host.err &
host=$!
trap 'kill -9 $host 2>/dev/null; cleanup' EXIT
timeout 100 ./storm $members $adds "$port" 2>storm.err &
storm=$!
for ((i = 0; i < kills; i++)); do
    sleep 0.3
    { kill -9 $host && wait $host; } 2>/dev/null # the shell would say so
    ./storm host 2>>host.err &
    host=$!
done
wait $storm
check "$members members whose host is killed $kills times all end well" test $? = 0
echo $((members * adds)) >expected
gives "and each of their adds counts once" expected timeout 30 ./storm total "$port"
wait $host
check "the host ends when they are done" test $? = 0
finish
