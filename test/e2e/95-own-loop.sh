#!/bin/bash
# A program with a loop of its own waits for a queue by a descriptor, and knows the threads that the library starts.
# also: asan tsan
. "$(dirname "$0")/lib.sh"

serve
check "own_loop_claims.c compiles" compile own_loop_claims
check "the descriptor is readable when it has to be" ./own_loop_claims

# The example, beside another consumer and with a host that is cut off for a while.
example=$(dirname "$WEFT")/examples/own_loop
mkfifo typed && exec 9<>typed
"$example" jobs <typed >loop.out 2>loop.err &
loop=$!
seq 1 50 | weft queue push jobs >pushed
echo hello >&9
until_state jobs '"size": *0[,}]'
check "it takes what is pushed while it waits" eval 'for i in $(seq 100); do [ "$(wc -l <loop.out)" = 50 ] && break; sleep 0.05; done; [ "$(wc -l <loop.out)" = 50 ]'
check "its timer runs" eval 'for i in $(seq 100); do grep -q "50 so far" loop.err && break; sleep 0.05; done; grep -q "50 so far" loop.err'
check "and its other descriptor" grep -q 'you typed hello' loop.err
kill -STOP "$host" && sleep 0.5 && kill -CONT "$host"
seq 51 100 | weft queue push jobs >pushed
weft queue close jobs >closed
wait $loop
check "it ends with the queue" is "$?" 0
seq 100 >expected
same "nothing is missing, and in order" expected loop.out
exec 9>&-

# What the library would print goes to the log, also that a job and a cluster have failed.
check "quiet.c compiles" compile quiet
printf 'a\n\nb\n' >bad && printf 'a\n' >good
echo "OK failed told" >expected
gives "with a log the library prints nothing" expected ./quiet good good.out
check_not "on standard error neither" cat_first "$err"
./quiet bad bad.out >answer 2>"$err"
check "a job that fails is told to the log" grep -q "failed told" answer
check_not "and printed nowhere" cat_first "$err"

finish
