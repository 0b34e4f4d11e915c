#!/bin/bash
# Programs that are no members and use a host: weft_connect, and weft_join with an address.
# also: asan
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

check "it compiles as C" compile connect
compile_cpp() {
    clang-14 -x c++ -std=c++17 -nostdinc++ -Wall -Wextra -Wno-writable-strings -Werror -I"$root/include" \
        -fsyntax-only "$e2e/jobs/connect.c"
}
check "and as C++" compile_cpp

# host NAME ARGUMENT...: starts one, waits until it is ready; its port is in $port, its number in $pid.
host() {
    local name=$1
    shift
    "$WEFT" host --listen localhost:0 --port-file "$name.port" "$@" >"$name.out" 2>"$name.err" &
    pid=$!
    until [ -e "$name.port" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    port=$(cat "$name.port" 2>/dev/null)
}
stop() { kill "$pid" && wait "$pid" 2>/dev/null; }
trap 'kill $pid 2>/dev/null; cleanup' EXIT

host a
check "a program uses all that a host can hold" ./connect use "localhost:$port"
check "a script finds what it left" is "$(weft queue take --at "localhost:$port" jobs)" left
check "and what it counted" is "$(weft var get --at "localhost:$port" total)" 42
./connect print "localhost:$port" >&-
check "a program whose standard output is closed keeps its connection" is $? 0
check "and the host hears nothing that it prints" is "$(grep -c refused a.err)" 0
stop
host b
check "WEFT_AT names the host" env WEFT_AT="localhost:$port" ./connect use
stop
host c
check "weft_join takes the address, too" ./connect join "localhost:$port"
check "the end of a program gives back what it had" is "$(weft queue size --at "localhost:$port" jobs)" 1
printf 'first\n' | weft queue push --at "localhost:$port" items
weft queue close --at "localhost:$port" items
check "a command of weft queue take finds its host" \
    weft queue take --at "localhost:$port" items -- sh -c './connect short'
check "which got what it pushed" is "$(weft queue size --at "localhost:$port" jobs)" 2
stop

token=0123456789abcdef0123456789abcdef
export WEFT_TOKEN=$token
host d
unset WEFT_TOKEN
fails_with "without the token nobody gets in" 5 'token' ./connect short "localhost:$port"
(umask 077 && echo $token >secret)
check "with a token file" ./connect join "localhost:$port" secret
check "with #TOKEN" ./connect short "localhost:$port#$token"
check "with WEFT_TOKEN" env WEFT_TOKEN=$token ./connect short "localhost:$port"
fails_with "#TOKEN that is none" 2 '# is not a token' ./connect short "localhost:$port#abc"
check_not "which is not repeated" grep -q abc "$err"
WEFT_AT="localhost:$port#$token" check "WEFT_AT may have it, too" ./connect short
stop

fails_with "an address that is none" 2 'is not an address' ./connect short 'a b:c:d'
fails_with "nobody there: it says what to do" 3 "try: weft host --listen localhost:$port" \
    env WEFT_PATIENCE=200ms ./connect short "localhost:$port"
finish
