#!/bin/bash
# Clients and their workers are killed, or have a full disk, at fixed points of a job; so has the server. The bytes are those of weft run.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

export ONCE=$dir/once GATE=$dir/gate REDUCED=$dir/reduced
seq 1 4000 >numbers
generate words 1500000 881 >words
compile five_stages || exit 1

# Passes its lines on. A client with DIES=POINT has its agent or its worker (VICTIM) killed there, once. A map task has 100 lines, a sample
# fewer. With HOLD, reduce tasks wait for the gate.
cat >pass.sh <<'X'
#!/bin/bash
mapfile lines
point=$1
[ "$point" != map ] || [ ${#lines[@]} = 100 ] || point=sample
[ "$point" != reduce ] || [ -z "${HOLD:-}" ] || { echo >>"$REDUCED" && until [ -e "$GATE" ]; do sleep 0.02; done; }
[ "$point" != reduce ] || [ "${DIES:-}" != half ] || [ "$(wc -l <"$REDUCED")" -lt 4 ] || point=half
[ "$point" != reduce ] || echo >>"$REDUCED"
if [ "$point" = "${DIES:-}" ] && (set -C && : >"$ONCE") 2>/dev/null; then
    read -r worker _ <"/proc/$AGENT/task/$AGENT/children"
    case $VICTIM in agent) kill -9 "$AGENT" ;; worker) kill -9 "$worker" ;; esac
    sleep 60
fi
printf '%s' "${lines[@]}"
X
chmod +x pass.sh
job=(--lines-per-task 100 --reducers 8 --file pass.sh --map './pass.sh map' --reduce './pass.sh reduce' numbers)

# mortal WORD...: a client in the environment that the words set.
mortal() {
    env "$@" sh -c 'AGENT=$$ exec "$0" client -q -n 1 "$1"' "$WEFT" "$at" >>client.log 2>&1 &
    clients+=($!)
}

begin() {
    rm -f "$ONCE" "$GATE" "$REDUCED"
    : >client.log; : >"$REDUCED"
    clients=()
}

# same_end SENTENCE CODES: the server has ended well, and the clients as they should.
same_end() {
    all_end 2>/dev/null
    if [ "$code $codes" = "0 $2" ] && cmp -s expected "$out"; then
        ok "$1"
    else
        not_ok "$1"
        { echo "exit $code, clients $codes" && head -n 8 "$err" client.log && cmp expected "$out"; } | note
    fi
}

# ---- kill -9 --------------------------------------------------------------------------------------------------

answer "${job[@]}" >expected
for point in sample map reduce half; do
    for victim in agent worker; do
        case $point.$victim in reduce.agent | sample.worker) continue ;; esac # as half, and as map
        begin
        open_server -q "${job[@]}"
        mortal DIES=$point VICTIM=$victim
        # It gets the first tasks; when all depends on others, these are there, too.
        [ $point != half ] || join 1
        await '[ -e "$ONCE" ]'
        [ $point = half ] || join 1
        case $victim in agent) codes_wanted="137 0 " ;; *) codes_wanted="0 0 " ;; esac
        same_end "the $victim of a client is killed at: $point" "$codes_wanted"
    done
done

# at_write SENTENCE CODES WORD...: the process that the words mean dies at its first write of a temporary file.
at_write() {
    local sentence=$1 codes_wanted=$2
    shift 2
    begin
    open_server -q "${what[@]}"
    mortal LD_PRELOAD="$E2E_TOOLS/dieat.so" WEFT_DIE_ONCE="$ONCE" WEFT_DIE_AT=1 WEFT_DIE_FILE="$TMPDIR/" "$@"
    # Alone it does the first task; to fetch, it needs another one.
    [[ $sentence == *fetches ]] || await '[ -e "$ONCE" ]'
    join $(($(wc -w <<<"$codes_wanted") - 1))
    same_end "$sentence" "$codes_wanted"
    check "which happened" test -e "$ONCE"
}

if ldd "$WEFT" >/dev/null 2>&1; then
    what=("${job[@]}")
    at_write "a worker is killed while it seals" "0 0 " WEFT_DIE_CHILD=1
    at_write "a client is killed while it fetches" "137 0 "
    what=(grep a words)
    answer "${what[@]}" >expected
    # The job may be done before another client has joined.
    at_write "a worker is killed while it writes its answer" "0 " WEFT_DIE_CHILD=1
else
    skip "kills at writes" "the command takes no preloaded library"
fi

answer ./five_stages numbers >expected
for victim in agent worker; do
    begin
    open_server -q --lines-per-task 500 ./five_stages numbers
    mortal DIES=$victim
    join 1
    case $victim in agent) codes_wanted="137 0 " ;; *) codes_wanted="0 0 " ;; esac
    [ -e "$ONCE" ] || await '[ -e "$ONCE" ] || ! kill -0 $server 2>/dev/null'
    if [ -e "$ONCE" ]; then
        same_end "the $victim of a client is lost in stage 3 of 5" "$codes_wanted"
    else
        same_end "the $victim of a client is lost in stage 3 of 5 (the other one did all)" "0 0 "
    fi
done

# ---- full disks -----------------------------------------------------------------------------------------------

# full BYTES: a client whose disk has room for that many.
mkdir full
full() {
    env LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/full" WEFT_NOSPACE_BYTES="$1" \
        "$WEFT" client -q -n 1 --tmp "$PWD/full" "$at" >>client.log 2>&1 &
    clients+=($!)
}

if ldd "$WEFT" >/dev/null 2>&1; then
    begin
    answer sort words >expected
    open_server sort words
    full 10000
    await 'grep -q "set aside" "$err"'
    join 1
    same_end "a client without room for its map output is set aside" "1 0 "
    says "which the server names with the reason" 'client .* is set aside: .*no (room|space left)'

    # All is mapped when it joins: it has only to fetch.
    answer "${job[@]}" >expected
    begin
    export HOLD=1
    open_server "${job[@]}"
    join 1
    await '[ -s "$REDUCED" ]'
    full 1000
    await 'grep -q "set aside" "$err"'
    : >"$GATE"
    unset HOLD
    same_end "a client without room for what it fetches is set aside" "0 1 "
    says "which the server names with the reason as well" 'client .* is set aside: .*no (room|space left)'

    begin
    open_server --timeout 2s sort words
    full 10000
    all_end
    check "when no client is left the server waits, until --timeout" is "$code" 6
    says "it says why the client went" 'is set aside: .*no (room|space left)'
    says "and that none is left" 'no client is left: waiting for others to join'

    begin
    mkdir disk
    answer --reducers 8 sort words -o whole/
    rm -f port
    env LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/disk" WEFT_NOSPACE_BYTES=1300000 \
        "$WEFT" server -q --listen localhost:0 --port-file port --reducers 8 sort words -o disk/out/ >/dev/null 2>"$err" &
    server=$!
    await '[ -s port ]'
    at=$(cat port)
    join 1
    all_end
    check "a server without room for the answer fails" is "$code" 5
    says "it names the place" 'no room (for the output )?in disk|disk.*no space left'
    says "and that the next run continues" 'finished work is kept'
    open_server -q --reducers 8 sort words -o disk/out/
    join 1
    all_end
    check "the same command continues" is "$code $codes" "0 0 "
    check "with the same bytes" diff -r whole disk/out
else
    skip "full disks" "the command takes no preloaded library"
fi

# ---- one sentence and an exit code ------------------------------------------------------------------------------

begin
answer "${job[@]}" -o whole.d/
export HOLD=1
open_server -q "${job[@]}" -o twice/
first=$server
: >"$REDUCED"
join 1
await '[ -s "$REDUCED" ]'
rm -f port
fails_with "a second server with the same output" 5 'a server is at work on twice/' \
    "$WEFT" server -q --timeout 10s --listen localhost:0 --port-file port "${job[@]}" -o twice/
: >"$GATE"
server=$first
all_end
check "of two servers with one output the first ends well" is "$code $codes" "0 0 "
check "with its bytes" diff -r -x _manifest.json whole.d twice

cp numbers changing
begin
export HOLD=
open_server -q "${job[@]/numbers/changing}"
sleep 0.2
{ head -n 2000 numbers && echo changed; } >changing
join 1
all_end
check "an input that changes before it is read ends the job" test "$code" != 0
says "with its name" 'changing'
cp numbers gone
begin
open_server "${job[@]/numbers/gone}"
mv gone moved
join 1
all_end
check "an input that is removed before it is read ends the job" is "$code" 1
says "with its name, and what happened" 'cannot open gone: no such file'
check "no client is set aside for it" is "$(grep -c 'set aside' "$err")" 0
check "nothing is left" is "$(ls -A "$TMPDIR")" ""

finish
