#!/bin/bash
# weft queue: items in and out of a queue, and commands for items.
# also: asan tsan
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

serve

# --- in and out -------------------------------------------------------------------------------------

weft queue push words alpha 'be ta' gamma
printf 'alpha\nbe ta\ngamma\n' >expected
gives "peek shows the first items" expected weft queue peek -n 9 words
check "they are three" is "$(weft queue size words)" 3
check "the first comes out first" is "$(weft queue take words)" alpha
weft queue close words
while item=$(weft queue take words); do echo "$item"; done >loop
printf 'be ta\ngamma\n' >expected
same "a loop ends by itself when the queue is closed and drained" expected loop
try weft queue take words
check "that is exit 7" is $code 7
check_not "and quiet" test -s "$err"
check "a worker that finds it drained has done its work" weft queue take words -- false
check "and so has --all" weft queue take --all words
fails_with "nothing can be pushed any more" 1 "is closed" weft queue push words late
check "closing again is fine" weft queue close words
fails_with "no item in time: exit 6" 6 "no item came in time" weft queue take --timeout 100ms nothing
fails_with "a queue that is not there: exit 4" 4 "did you mean: words" weft queue size wods
printf 'queue\twords\t0\tclosed\n' >expected
gives "ls; a queue that was only waited for is gone" expected weft queue ls
weft queue push nothing a
weft queue rm nothing
fails_with "what was removed is gone" 4 "no queue nothing" weft queue peek nothing

seq 200000 >lines
weft queue push many <lines
check "two hundred thousand lines are pushed" is "$(weft queue size many)" 200000
weft queue close many
gives "and come out in their order" lines weft queue take --all many
printf 'one\ntwo\0three\0' >zeros
weft queue push -0 zeros <zeros
gives "items end with zeros where asked for" zeros weft queue take -0 -n 2 zeros
(printf 'a\nb\nc' | weft queue push --key-lines keyed) && printf 'b\nd\n' | weft queue push --key-lines keyed
check "a key counts once" is "$(weft queue take -n 4 keyed | xargs)" "a b c d"
weft queue push --key k once first && weft queue push --key k once second
check "also for one item" is "$(weft queue peek -n 5 once)" first
weft queue push -- dashes -x --y
check "items may begin with a dash" is "$(weft queue take -n 2 dashes | xargs)" "-x --y"
weft queue take early >early.out &
until_state early '"takers_waiting":1'
check "who takes may come before who says what the queue is" weft queue push --capacity 3 early x
wait $!
check "and gets what is pushed" is "$(cat early.out)" x
(seq 10 | weft queue push --capacity 3 small && touch small.end) &
until_state small '"pushers_waiting":1'
check_not "a push into a full queue waits" test -e small.end
check "until there is room" is "$(weft queue take -n 10 small | xargs)" "$(seq 10 | xargs)"
wait $!
check "a push with --timeout into a queue with room" weft queue push --capacity 1 --timeout 0 tight a
fails_with "one into a full queue ends with it" 6 "tight: no room came in time" weft queue push --timeout 200ms tight b
fails_with "0: at once" 6 "tight: no room came in time" weft queue push --timeout 0 tight b
check "and pushes nothing" is "$(weft queue take --until-empty tight)" a
fails_with "items of standard input" 6 "some of the items may be in it" weft queue push --timeout 200ms tight < <(seq 3)
check "those for which there was room are in" is "$(weft queue take --until-empty tight)" 1
fails_with "another capacity is refused" 2 "'small' has a limit of 3 items, and was asked for with a limit of 4 items" weft queue push --capacity 4 small x
says "and says what to do" "try: the limits that the queue has, or none"
fails_with "as is one that was not said, where another limit was" 2 "'small' has a limit of 3 items, and was asked for with no limit of items" \
    weft queue push --deliveries 2 small x
fails_with "what is no number is not answered with the largest one" 2 "'-1', not a number of 1 or more" weft queue push --capacity=-1 small x
fails_with "nor what is too large" 2 "'99999999999999999999' is too large" weft queue push --capacity 99999999999999999999 small x
weft queue push back one
weft queue take back >/dev/full 2>"$err"
until_state back '"size":1'
check "what could not be printed is not lost" is "$(weft queue peek back)" one

# --- commands ---------------------------------------------------------------------------------------

weft queue push jobs a 'b  c' 'd;e' && weft queue close jobs
weft queue take jobs -- echo got >commands
printf 'got a\ngot b  c\ngot d;e\n' >expected
same "the item is the last argument" expected commands
weft queue push jobs2 x y && weft queue close jobs2
weft queue take jobs2 --results made -- sh -c 'echo "$WEFT_ITEM $WEFT_DELIVERY"; echo {} >&2' 2>talk
printf 'x 1\ny 1\n' >expected
gives "results go to another queue" expected weft queue take -n 2 made
printf 'x\ny\n' >expected
same "{} is the item, and what a command complains of is heard" expected talk
printf 'one\ntwo' | weft queue push -0 jobs3 && weft queue close jobs3
printf 'ONE\nTWO' >expected
gives "--stdin" expected weft queue take jobs3 --stdin -- tr a-z A-Z

weft queue push flaky 1 2 3 && weft queue close flaky
try weft queue take flaky --backoff 50ms --deliveries 2 -- sh -c 'test {} != 2'
check "what fails for good makes exit 1" is $code 1
says "each failure is told with the item" "'2': exited with code 1; delivery 1 of 2, again in 0.05 s"
says "and where it is in the end" "delivery 2 of 2, now in flaky.dead"
says "and how it is tried again" 'again: weft queue retry flaky.dead'
today=$(date -u +%Y-%m)
try weft queue peek flaky.dead
check "the dead letters say why and when" grep -qE "^2	exited with code 1; delivery 2, $today-..T" "$out"
try weft queue peek --json flaky.dead
check "also in JSON" grep -qE '"item":"2","failed":\{"reason":"exited with code 1","deliveries":2,"at":"'"$today" "$out"
check "-0 has items alone" is "$(weft queue peek -0 flaky.dead | tr '\0' .)" 2.
check "retry puts it back" is "$(weft queue retry flaky.dead)" 1
check "it is worked on again, as new, though the queue is closed" \
    weft queue take flaky --deliveries 1 -- sh -c '[ "$WEFT_DELIVERY" = 1 ] && [ {} = 2 ]'
check "and is gone" is "$(weft queue size flaky)/$(weft queue size flaky.dead)" 0/0
fails_with "only dead letters can be tried again" 2 'holds no dead letters' weft queue retry flaky
weft queue push again x && weft queue close again
"$WEFT" queue take again -- sh -c 'touch begun; sleep 1234' 2>/dev/null &
until [ -e begun ]; do sleep 0.02; done
{ kill -9 $! && wait $!; } 2>/dev/null
fails_with "an item that has had its deliveries is not run" 1 "'x': not run: delivered 1 time before, and 1 is allowed, now in again.dead" \
    weft queue take again --deliveries 1 -- true
weft queue push --deliveries 2 limited a && weft queue close limited
try weft queue take limited --backoff 50ms -- false
check "the queue's own limit makes exit 1, too" is $code 1
says "it is told with each failure" "'a': exited with code 1; delivery 1 of 2, again in 0.05 s"
says "and where the item is in the end" "delivery 2 of 2, now in limited.dead"
says "and at the end of all" 'limited: 1 item failed for good'
"$WEFT" queue take declared --backoff 10ms -- false 2>declared.err &
worker=$!
until_state declared '"takers_waiting":1'
weft queue push --deliveries 2 declared a && weft queue close declared
wait $worker
check "also a limit that was set when the worker was there already" is $? 1
check "is told when it is reached" grep -q "delivery 2 of 2, now in declared.dead" declared.err
weft queue push second a && weft queue close second
try weft queue take second --backoff 50ms -- sh -c '[ "$WEFT_DELIVERY" = 2 ]'
check "a second chance is enough" is $code 0
weft queue push slow x && weft queue close slow
try weft queue take slow --deliveries 1 --item-timeout 300ms -- sh -c 'sleep 1234 & sleep 1234'
says "one that takes too long is killed" "killed: it took longer than 0.3 s"
check_not "and all that it started" pgrep -f 'sleep 1234'
weft queue push none x
: >plain
fails_with "a command that is missing is refused before there is an item for it" 4 "cannot start no-such-command" \
    timeout 20 "$WEFT" queue take never-pushed -- no-such-command
fails_with "so is one that cannot be executed" 5 "chmod \+x ./plain" \
    timeout 20 "$WEFT" queue take never-pushed -- ./plain
printf '#!/no/such/interpreter\n' >odd && chmod +x odd
fails_with "one that cannot be started: nothing is lost" 4 "cannot start ./odd" weft queue take none -- ./odd
says "nor has it run" 'gave back 1 item that did not run'
until_state none '"size":1'
check "it is there again" is "$(weft queue peek none)" x

seq 9 | weft queue push unread && weft queue close unread
(weft queue take unread -- sh -c 'echo {}; sleep 0.1'; echo $? >code) 2>"$err" | head -n 2 >"$out"
check "a reader that leaves ends the work as it would end cat" is "$(cat code)" 141
check_not "no host is blamed" grep -q 'weft host' "$err"
says "the item that ran went back" 'gave back 1 item that ran'

seq 6 | weft queue push side && weft queue close side
mkdir seen
check "four at a time" weft queue take -P 4 side -- sh -c \
    'touch seen/{}; i=0; while [ $(ls seen | wc -l) -lt 4 ] && [ $i -lt 200 ]; do sleep 0.05; i=$((i+1)); done; [ $i -lt 200 ]'

weft queue push long x y
"$WEFT" queue take long -P 2 -- sh -c 'sleep 4321; :' 2>term.err &
worker=$!
until_state long '"leased":2'
until [ "$(pgrep -fxc 'sleep 4321')" = 2 ] || ! kill -0 $worker; do sleep 0.05; done
kill -TERM $worker
wait $worker
check "a signal ends it with 143" is $? 143
check "and says what it gave back" grep "gave back 2 items" term.err
until_state long '"size":2'
check "they are there again" is "$(weft queue size long)" 2
check_not "nothing runs" pgrep -f 'sleep 4321'
"$WEFT" queue take long -P 2 -- sh -c 'sleep 4322; :' 2>/dev/null &
worker=$!
until_state long '"leased":2'
kill -9 $worker
wait $worker 2>/dev/null
until_state long '"size":2'
check "so it is after kill -9" is "$(weft queue size long)" 2
for ((i = 0; i < 100; i++)); do pgrep -f 'sleep 4322' >/dev/null || break; sleep 0.05; done
check_not "and nothing runs then either" pgrep -f 'sleep 4322'

seq 500 | weft queue push through && weft queue close through
weft queue take through --parallel 3 --results squares -- sh -c 'echo $(({} * {}))'
weft queue close squares
check "five hundred commands, each with its result" \
    is "$(weft queue take --all squares | sort -n | tail -1 | tr -d '\n'; weft queue size --json squares | grep -o '"pushed":[0-9]*')" '250000"pushed":500'

fails_with "-n counts items, not commands" 2 "try: -P 4" weft queue take -n 4 through -- true
fails_with "-P is of commands" 2 "-P is for a command" weft queue take -P 4 through

# --- one that is waited for ---------------------------------------------------------------------------

weft queue push orders x
"$WEFT" queue take oders -- echo >waiting.out 2>waiting.err &
worker=$!
for ((i = 0; i < 200; i++)); do [ -s waiting.err ] && break; sleep 0.05; done
check "a worker of a queue that nobody has pushed to says that it waits" \
    grep -q "oders: nothing was pushed to this queue so far: waiting" waiting.err
check "and which it may have meant" grep -q "did you mean: orders" waiting.err
weft queue push oders y && weft queue close oders
wait $worker
check "it works when the producer comes" is "$(cat waiting.out)" y
check "and has said it once" is "$(grep -c waiting waiting.err)" 1
"$WEFT" queue take zebra >zebra.out 2>zebra.err &
worker=$!
"$WEFT" queue take -q quietone 2>quiet.err &
quiet=$!
for ((i = 0; i < 200; i++)); do [ -s zebra.err ] && break; sleep 0.05; done
check "so does one who prints, with what to do" grep -q "push zebra ITEM" zebra.err
weft queue push zebra z && weft queue push quietone z
wait $worker $quiet
check_not "-q says nothing" test -s quiet.err

"$WEFT" queue take gone -- true 2>gone.err &
worker=$!
until_state gone '"takers_waiting":1'
weft queue rm gone
wait $worker
check "the end of a queue is the end of who waits for it" is $? 1
check "it is told in words" grep -q "gone: the take from 'gone' has ended: it was removed" gone.err
check "with what to do" grep -q "try: the same again" gone.err

# --- until it is empty --------------------------------------------------------------------------------

seq 5 | weft queue push drain
check "--until-empty ends though the queue is open" is "$(weft queue take --until-empty drain -P 2 -- echo | sort | xargs)" "1 2 3 4 5"
check "also when nothing is there" weft queue take --until-empty drain -- false
check "also where items are printed" is "$(seq 3 | weft queue push drain && weft queue take --until-empty drain | xargs)" "1 2 3"
check "with no item: 0" weft queue take --until-empty drain
weft queue push drain flaky
check "what failed is waited for and tried again" \
    weft queue take --until-empty drain -q --backoff 300ms -- sh -c '[ "$WEFT_DELIVERY" = 2 ]'
check "nothing is left" is "$(state drain | grep -o '"leased":[0-9]*')/$(weft queue size drain)" '"leased":0/0'
weft queue push drain 3
check "what a command pushes itself is worked on, too" is \
    "$(weft queue take --until-empty drain -P 2 -- sh -c '[ {} = 0 ] || "$WEFT" queue push drain $(({} - 1)); echo {}' | sort -r | xargs)" "3 2 1 0"
weft queue push drain held
"$WEFT" queue take drain -- sh -c 'until [ -e let-go ]; do sleep 0.05; done' &
worker=$!
until_state drain '"leased":1'
check "an item that another has is not waited for" weft queue take --until-empty drain -- false
touch let-go
until_state drain '"leased":0'
kill $worker
wait $worker 2>/dev/null
fails_with "a queue that is not there is no empty one" 4 "did you mean: drain" weft queue take --until-empty drian -- true
fails_with "it does not go with --all" 2 "--until-empty" weft queue take --until-empty --all drain

kill $host
wait $host
unset WEFT_AT

# --- a member of a cluster ---------------------------------------------------------------------------

program=$(dirname "$WEFT")/examples/count
if [ -x "$program" ]; then
    used=$(free_ports 1)
    weft cluster config -q --role "files=localhost:$used" --role reduce=localhost:1 --role map=localhost:2
    printf 'one.txt\ntwo.txt\n' >names
    (. ./config_files_0.sh && exec "$program" names 2>member.err) &
    member=$!
    . ./config_map_0.sh
    printf 'one.txt\ntwo.txt\n' >expected
    gives "by TF_CONFIG a path names a member's queue" expected \
        weft queue take --wait 20s --all /files/0/filename_queue
    check_not "the member has no complaint" grep -v "stays for those" member.err
    fails_with "which role and index there are is known" 4 "no /files/1" weft queue size /files/1/x
    kill $member
    wait $member
else
    skip "a member of a cluster" "there is no $program"
fi
finish
