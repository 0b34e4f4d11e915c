#!/bin/bash
# Clients on whose machine the job cannot be done: a command is missing there, the code finds no room, what starts commands is killed. Others do the job.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/machines.sh"

seq 1 4000 >numbers
mkdir bin
printf '#!/bin/sh\nsleep 0.02\nexec cat\n' >bin/only-here
chmod +x bin/only-here

# join_with VARIABLE=VALUE...: a client with that in its environment.
join_with() {
    env "$@" "$WEFT" client -q -n 1 "$at" >>client.log 2>&1 &
    clients+=($!)
}

# ---- A program that a machine lacks -------------------------------------------------------------------------

job=(--lines-per-task 100 --map only-here --reduce cat numbers)
PATH=$PATH:$PWD/bin answer "${job[@]}" >expected
open_server "${job[@]}"
join 1
check "a client that lacks the program of a command is set aside" await 'grep -q "is set aside: map command: cannot start only-here" "$err"'
check "the server waits for others" await 'grep -q "no client is left" "$err"'
join_with PATH="$PATH:$PWD/bin"
all_end
check "one that has it does the job" is "$code $codes" "0 1 0 "
same "with the same bytes" expected "$out"
check "the other one knows why it ended" grep -q 'set aside: map command: cannot start only-here' client.log

open_server "${job[@]}"
join 3
wait $server
check "a program that no client has ends the job" is "$?" 4
says "with the reason" '^weft: map command: cannot start only-here'
wait
clients=()

# ---- Code that finds no room --------------------------------------------------------------------------------

mkdir full
{ cat "$WEFT" && echo; } >another # so its code has to be fetched
chmod +x another
ln -s "$(dirname "$WEFT")"/libweft.so* .
open_server -q "${job[@]}"
env LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/full" WEFT_NOSPACE_BYTES=100000 XDG_CACHE_HOME="$PWD/full" \
    ./another client -q -n 1 "$at" >>client.log 2>&1
check "a client without room for the code ends" is "$?" 1
check "and is set aside by name, with the reason" await 'grep -q "is set aside: the code of the job: .*no space left" "$err"'
join_with PATH="$PATH:$PWD/bin"
all_end
check "another one does the job" is "$code $codes" "0 0 "
same "with the same bytes again" expected "$out"
rm -rf full

# ---- No place for code at home ------------------------------------------------------------------------------

mkdir places
answer "${job[@]/only-here/cat}" >expected
for home in -uHOME HOME=/proc/no/home; do
    open_server -q "${job[@]/only-here/cat}"
    env -u XDG_CACHE_HOME "$home" ./another client -q -n 1 --tmp "$PWD/places" "$at" >>client.log 2>&1
    check "a client with $home works" is "$?" 0
    all_end
    check "and the job ends well" is "$code" 0
    same "with its bytes" expected "$out"
done
check "its code is below --tmp" test -d "places/weft-code-$(id -un)"
check "which is its user's alone" is "$(stat -c %a places/weft-code-*)" 700
open_server -q "${job[@]/only-here/cat}"
XDG_CACHE_HOME=/proc/no/cache fails_with "a place that was named and cannot be used is an error" 5 'cannot make the directory .proc.no.cache' \
    weft client -q -n 1 "$at"
kill $server
all_end

# ---- The process that starts commands -----------------------------------------------------------------------

# nursery_of PID: that of its worker.
nursery_of() { pgrep -P "$(pgrep -P "$1" | head -n 1)" weft-nursery; }

slowly=(--lines-per-task 100 --map 'sleep 0.02; cat' --shell --reduce cat numbers)
answer "${slowly[@]}" >expected
open_server "${slowly[@]}"
join 2
check "a worker has a process that starts commands" await 'kill -9 $(nursery_of "${clients[0]}") 2>/dev/null'
all_end
check "it is killed at one of two clients, and the job ends well" is "$code $codes" "0 0 0 "
same "with the same bytes then" expected "$out"
"$WEFT" run -q "${slowly[@]}" >"$out" 2>"$err" &
run=$!
check "a worker of one machine has one, too" await 'kill -9 $(nursery_of $run) 2>/dev/null'
wait $run
check "that job ends well without it" is "$?" 0
same "with its bytes" expected "$out"

# ---- A machine on which workers are killed -------------------------------------------------------------------

# In every map task: as where memory runs out. The other client does these tasks well, and so does the server.
cat >kill.sh <<'X'
#!/bin/bash
mapfile lines
if [ -n "${AGENT:-}" ] && [ ${#lines[@]} = 100 ]; then
    read -r worker _ <"/proc/$AGENT/task/$AGENT/children"
    kill -9 "$worker"
    sleep 60
fi
sleep 0.1
printf '%s' "${lines[@]}"
X
chmod +x kill.sh
deadly=(--lines-per-task 100 --file kill.sh --map ./kill.sh --reduce cat numbers)
answer "${deadly[@]}" >expected
open_server "${deadly[@]}"
sh -c 'AGENT=$$ exec "$0" client -q -n 1 "$1"' "$WEFT" "$at" >>client.log 2>&1 &
clients+=($!)
join 1
all_end
check "a client on which map tasks kill the worker is set aside" is "$code $codes" "0 1 0 "
same "and the job gives the same bytes" expected "$out"
says "the server says which task failed there, and how" 'is set aside: map task [0-9]* fails there and not on the server: the worker was killed'

# When it seals: no task is to blame.
if ldd "$WEFT" >/dev/null 2>&1; then
    generate words 300000 881 >words
    answer sort words >expected
    mkdir deadly
    open_server sort words
    env LD_PRELOAD="$E2E_TOOLS/dieat.so" WEFT_DIE_AT=1 WEFT_DIE_CHILD=1 WEFT_DIE_FILE="$PWD/deadly/" \
        "$WEFT" client -q -n 1 --tmp "$PWD/deadly" "$at" >>client.log 2>&1
    check "a client whose worker is killed at each seal is set aside" is "$?" 1
    check "the server waits for others then" await 'grep -q "no client is left" "$err"'
    join 1
    all_end
    check "which do the job" is "$code $codes" "0 0 "
    same "with the same bytes after all" expected "$out"
    says "and says what happened to it" 'is set aside: the worker was killed by signal 9'
else
    skip "a client whose worker is killed at each seal" "the command takes no preloaded library"
fi

finish
