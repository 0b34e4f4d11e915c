#!/bin/bash
# weft var, kv and barrier: what scripts share.
# also: asan
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

serve

# --- variables --------------------------------------------------------------------------------------

fails_with "a variable that is not there: exit 4" 4 "no variable hits" weft var get hits
check "counting begins at 0" is "$(weft var add hits 5)" 5
check "negative numbers are numbers" is "$(weft var add hits -7)" -2
check "get" is "$(weft var get hits)" -2
check "add with a key" is "$(weft var add --key a once 5)" 5
check "counts once, and prints what is there" is "$(weft var add --key a once 5)" 5
check "another key is another" is "$(weft var add --key b once 5)" 10
fails_with "an empty key is none" 2 "the key is empty" weft var add --key '' once 5
fails_with "set has no keys" 2 "unknown option" weft var set --key a once 5
seq 3 | weft queue push items && weft queue close items
check "the key of an item adds once for each, however often it fails" weft queue take items -q --backoff 20ms -- sh -c \
    '"$WEFT" var add --key "$WEFT_ITEM_KEY" sum 10 >/dev/null && "$WEFT" queue push --key "$WEFT_ITEM_KEY" next {} && [ $WEFT_DELIVERY -gt 1 ]'
check "so it did" is "$(weft var get sum) $(weft queue size next)" "30 3"
weft var rm once && weft var rm sum
weft var set hits 9223372036854775807
fails_with "an overflow is refused" 1 "does not fit" weft var add hits 1
fails_with "what is no number" 2 "not of type int64" weft var set hits many
weft var set --type double rate 0.25
check "its type is known from then on" is "$(weft var add rate 0.5)" 0.75
fails_with "and stays" 2 "." weft var set --type int32 rate 1
weft var set --type bytes name 'Ada L.'
check "texts" is "$(weft var get name)" 'Ada L.'
weft var set --type bool flag true
check "truths" is "$(weft var get flag)" true
check "whoever is first" is "$(weft var set --once seed 42)" 42
check "has said it for all" is "$(weft var set --once seed 43)" 42
check "min" is "$(weft var min low 7) $(weft var min low 9) $(weft var min low 3)" "7 7 3"
check "max" is "$(weft var max high 7) $(weft var max high 9) $(weft var max high 3)" "7 9 9"
check "swap" is "$(weft var swap seed 42 1)" 1
fails_with "a swap that comes too late" 1 "seed is 1, not 42" weft var swap seed 42 2
"$WEFT" var watch later -n 3 >seen &
watch=$!
until weft queue ls | grep -q later; do sleep 0.05; done
for ((i = 1; i <= 3; i++)); do
    weft var set later $i
    for ((j = 0; j < 200; j++)); do grep -qx $i seen && break; sleep 0.05; done
done
wait $watch
seq 3 >expected
same "who watches sees each value" expected seen
fails_with "no new value in time" 6 "no value came in time" weft var watch never --timeout 100ms
shells=()
for ((i = 0; i < 4; i++)); do
    (for ((j = 0; j < 25; j++)); do weft var add sum 1; done >"adds.$i") &
    shells+=($!)
done
wait "${shells[@]}"
check "a hundred adds of four shells" is "$(weft var get sum)" 100
check "no two of which saw the same" is "$(sort -u adds.* | wc -l)" 100
weft var rm sum
fails_with "rm" 4 "no variable sum" weft var get sum
weft var watch unset --timeout 10ms 2>error
printf 'flag\ttrue\nhits\t9223372036854775807\nname\tAda L.\nrate\t0.75\nseed\t1\nunset\t\n' >expected
weft var ls | grep -v '^l[oa]\|^high\|^never' >seen
same "ls: all and their values" expected seen
fails_with "of one member, who is not known here" 2 "." env -u WEFT_AT "$WEFT" var ls /files/0

# --- maps -------------------------------------------------------------------------------------------

fails_with "a map that is not there: exit 4" 4 "no map conf" weft kv get conf a
weft kv put conf db/host localhost
weft kv put conf db/port 5432
weft kv put conf rate 0.1
check "get gives what was put" is "$(weft kv get conf db/port)" 5432
printf 'db/host\tlocalhost\ndb/port\t5432\nrate\t0.1\n' >expected
gives "ls is sorted" expected weft kv ls conf
head -2 expected >expected2
gives "a prefix selects" expected2 weft kv ls conf db/
fails_with "an empty key of a map is none, in words" 2 "conf: a key has 1 to 1024 bytes, and this one has 0" weft kv put conf '' x
fails_with "a key that is not there: exit 4" 4 "no key 'x'" weft kv get conf x
check "a key is given once" weft kv put --if-absent conf leader me
fails_with "the next comes too late" 1 "exists, with version 4" weft kv put --if-absent conf leader you
check "a version is waited for" weft kv put --if-version 4 conf leader you
fails_with "once" 1 "version 5" weft kv put --if-version 4 conf leader me
printf '{"key":"leader","version":5,"value":"you"}\n' >expected
gives "json" expected weft kv get --json conf leader
printf 'two\nlines' | weft kv put conf text -
check "a value of standard input" is "$(weft kv get conf text)" $'two\nlines'
weft kv rm conf leader
fails_with "rm" 4 "no key 'leader'" weft kv rm conf leader
"$WEFT" kv watch conf db/ -n 4 >seen &
watch=$!
until [ "$(wc -l <seen)" = 2 ]; do sleep 0.05; done
weft kv put conf db/host remote
until [ "$(wc -l <seen)" = 3 ]; do sleep 0.05; done
weft kv rm conf db/port
wait $watch
printf 'put db/host localhost\nput db/port 5432\nput db/host remote\nrm db/port\n' >expected
same "who watches sees what is there, and each change" expected seen

weft kv put other a b
printf 'conf\nother\n' >expected
gives "ls without a path: all maps" expected weft kv ls
fails_with "rm asks for a key" 2 "which key" weft kv rm other
fails_with "or for all of them, not both" 2 "which key" weft kv rm --all other a
weft kv rm --all other
fails_with "rm --all removes the map" 4 "no map other" weft kv get other a

# --- barriers ---------------------------------------------------------------------------------------

shells=()
for i in 1 2; do
    (weft barrier wait start --count 3 && touch "through.$i") &
    shells+=($!)
done
sleep 0.3
check_not "two of three wait" test -e through.1 -o -e through.2
weft barrier wait start --count 3
wait "${shells[@]}"
check "with the third all go on" test -e through.1 -a -e through.2
fails_with "not all came" 6 "not all came in time" weft barrier wait start --timeout 100ms
printf 'start\t3\n' >expected
gives "ls: all and their counts" expected weft barrier ls
weft barrier wait start 2>error &
waiter=$!
until weft queue ls >/dev/null && sleep 0.2; do :; done
weft barrier rm start
wait $waiter
check "rm: who waits fails" test $? = 1
check "and is told" grep -q "it was removed" error
fails_with "rm removes it" 4 "no barrier start" weft barrier rm start

kill $host
wait $host
finish
