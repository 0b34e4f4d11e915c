#!/bin/bash
# Links between a server and its clients that break while they work, and that are slow, long and lossy: three network namespaces on one bridge.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/namespaces.sh"
. "$e2e/machines.sh"

if ! can_make_machines; then
    skip "links that are cut" "only root can make network namespaces, where the kernel has them"
    finish
fi

export LOG=$PWD/maps GATE=$PWD/gate
seq 1 4000 | sed 's/$/ and some words that make the line longer/' >lines
# A map task has 100 lines, unlike a sample: it logs its first word. From line 2000 on it waits for the gate.
cat >map.sh <<'X'
#!/bin/bash
mapfile lines
read -r first _ <<<"${lines[0]}"
[ ${#lines[@]} = 100 ] || first=0
[ "$first" = 0 ] || echo "$first" >>"$LOG"
[ "$first" -lt 2000 ] || until [ -e "$GATE" ]; do sleep 0.02; done
sleep 0.05
printf '%s' "${lines[@]}"
X
chmod +x map.sh
job=(--lines-per-task 100 --reducers 8 --file map.sh --map ./map.sh --reduce cat lines)
touch gate
answer "${job[@]}" -o expected/

maps_are() { [ "$(sort -u maps | wc -l)" -ge "$1" ]; }
hears() { await "grep -q '\"event\":\"$1\"' server.log"; }

# at PLACE WORD...: a client there.
at() {
    (cd / && exec ip netns exec "weft$$$1" "$WEFT" client -q -n 1 --memory 256M "${addresses[s]}:18125" "${@:2}") >>client.log 2>&1 &
    clients+=($!)
}

# begin: a server, and clients in a and b; returns when both have begun half of the map tasks between them.
begin() {
    drop_machines
    make_machines
    rm -rf port got maps gate
    : >client.log; : >maps
    clients=()
    in_ns s "$WEFT" server --json --timeout 100s --listen "${addresses[s]}:18125" --port-file port "${job[@]}" -o got/ 2>server.log &
    server=$!
    await '[ -s port ]'
    at a
    at b
    await 'maps_are 22 && [ "$(grep -c "\"event\":\"joined\"" server.log)" = 2 ]'
}

# same_end SENTENCE CODES
same_end() {
    all_end
    check "$1: the exit codes" is "$code $codes" "0 $2"
    check "$1: the same bytes" diff -r expected got
    [ "$code $codes" = "0 $2" ] || cat server.log client.log | cut -c1-250 | note 30
}
ended() { grep '"event":"end"' server.log | grep -o "\"$1\":[0-9]*" | head -n 1; }
# again: finished tasks that were done again, at all clients.
again() { grep '"event":"end"' server.log | grep -o '"tasks_again":[0-9]*' | awk -F: '{n += $2} END {print n + 0}'; }

# ---- Cables ---------------------------------------------------------------------------------------------

# Both clients have a task that waits for the gate, so nothing moves while the link is cut.
begin
link a down
sleep 3
link a up
hears back
touch gate
same_end "a link that is cut for 3 s" "0 0 "
check "no client is lost" is "$(ended workers_lost) $(grep -c '"event":"lost"' server.log)" '"workers_lost":0 0'
check "and no finished task is done again" is "$(again)" 0
check "nor is any task begun again" is "$(sort maps | uniq -d | wc -l)" 0

begin
export WEFT_REJOIN_MS=3000
link a down
hears lost
touch gate
same_end "a link that is cut for good" "3 0 "
check "the client is named" grep -q 'is lost: ' server.log
check "and knows why it ended" grep -q 'out of reach' client.log
unset WEFT_REJOIN_MS

# Packets of the server to one client vanish; later those of the client to the server.
for way in "s a" "a s"; do
    read -r from to <<<"$way"
    begin
    cannot_reach "$from" "$to"
    sleep 3
    can_reach "$from" "$to"
    hears back
    touch gate
    same_end "packets from $from to $to vanish for 3 s" "0 0 "
    check "packets from $from to $to: no client is lost" is "$(ended workers_lost) $(grep -c '"event":"lost"' server.log)" '"workers_lost":0 0'
    check "packets from $from to $to: no task is begun again" is "$(sort maps | uniq -d | wc -l)" 0
done

# Clients that have reached each other cannot any more.
begin
cannot_reach a b
cannot_reach b a
touch gate
same_end "two clients that cannot reach each other from half time on" "0 0 "

# ---- A slow, long and lossy link ------------------------------------------------------------------------

drop_machines
make_machines
if cc -O2 -D_GNU_SOURCE -std=gnu17 "$root/bench/delay.c" -o delay && [ -c /dev/net/tun ]; then
    ./delay "weft$$s" "weft$$a" 1000 5 2 >ready &
    delay=$!
    await '[ -s ready ] || ! kill -0 $delay'
    for one in "s 10.77.89.1" "a 10.77.89.2"; do
        read -r name address <<<"$one"
        ip -n "weft$$$name" addr add "$address/24" dev d0
        ip -n "weft$$$name" link set d0 up
    done
    generate words 300000 881 >words
    answer --reducers 4 sort words -o sorted/
    rm -rf port got
    clients=()
    in_ns s "$WEFT" server --timeout 100s --listen 10.77.89.1:18125 --port-file port --reducers 4 sort words -o got/ 2>server.log &
    server=$!
    await '[ -s port ]'
    (cd / && exec ip netns exec "weft$$a" "$WEFT" client -q -n 1 --memory 256M 10.77.89.1:18125) >client.log 2>&1 &
    clients+=($!)
    all_end
    check "1 Gbit/s, 5 ms and 2 % of the packets lost: all end well" is "$code $codes" "0 0 "
    check "with the same bytes" diff -r sorted got
    kill $delay
    wait $delay 2>/dev/null
else
    skip "a slow, long and lossy link" "no tun devices"
fi

finish
