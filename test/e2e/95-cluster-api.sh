#!/bin/bash
# What <weft/cluster.h> promises, seen from outside: every function, many threads, deadlines, a host that
# forgets, and the example that uses it.
# also: asan tsan
. "$(dirname "$0")/lib.sh"

check "cluster_nulls.c compiles" compile cluster_nulls
check "cluster_api.c compiles" compile cluster_api
check "calls without a handle fail, and nothing else happens" ./cluster_nulls

# Those that take no handle, and those of a task, which the engine hands to a job's functions.
cat >others <<'end'
weft_connect weft_version weft_error weft_err_name weft_read_int weft_read_double weft_words_refill_ weft_set_log weft_main_sized weft_start_sized
weft_sum weft_count weft_min weft_max weft_mean weft_first weft_collect weft_distinct weft_top weft_identity
end
cat "$root"/include/weft/*.h | sed 's,//.*,,' | tr '\n' ' ' | tr ';{}' '\n' | grep -o 'WEFT_API.*' |
    grep -vE '\((const )?weft_(task|values) ' | grep -oE '\bweft_[a-z_]+\(' | tr -d '(' | sort -u >declared
tr ' ' '\n' <others | sort | comm -23 declared - >handled
check "the headers are read" test "$(wc -l <handled)" -gt 70
missing() { while read -r name; do grep -q "\b$name(\|\b${name%_sized}(" "$e2e/jobs/cluster_nulls.c" || echo "$name"; done <handled; }
check "of every public call that takes a handle this was tried" test -z "$(missing | tee missing | head)"
[ -s missing ] && note <missing

# count: a whole program that checks nothing until weft_leave.
example=$(dirname "$WEFT")/examples/count
fails_with "a program that is started alone says why, and what to do" 1 'TF_CONFIG is not set' "$example"
says "and how it is started" 'try: weft cluster run --role'
fails_with "one whose TF_CONFIG is no JSON says so" 2 'TF_CONFIG' env TF_CONFIG='{bad' "$example"
check_not "and not that something is NULL" grep -q NULL "$err"
fails_with "one with a bad token says so" 2 'token' env WEFT_TOKEN=xyz \
    TF_CONFIG='{"cluster": {"files": ["localhost:1"]}, "task": {"type": "files", "index": 0}}' "$example"


# config MEMBER ROLES: TF_CONFIG of a member of a cluster of these roles, each of one member.
read -r -a ports < <(free_ports 3)
config() {
    local members='' i=0 role
    for role in $2; do
        members="$members${members:+, }\"$role\": [\"localhost:${ports[i]}\"]"
        i=$((i + 1))
    done
    echo "{\"cluster\": {$members}, \"task\": {\"type\": \"$1\", \"index\": 0}}"
}
as() { TF_CONFIG=$(config "$1" "$2") "${@:3}"; }
export TF_CONFIG # of those that run in the background: a subshell would hide their pid

TF_CONFIG=$(config two "one two")
./cluster_api other >other 2>&1 &
check "every call does what it says" as one "one two" ./cluster_api good
wait $!
check "and the other member was met" test $? = 0
check "what is wrong is refused, and told by weft_leave" as one one ./cluster_api bad
check "calls end at their deadlines" as one one ./cluster_api late
check "also when nobody is there" as evaluator gone ./cluster_api absent

adds=10000
is_sanitized && adds=1000
check "8 threads on one handle add exactly" as one one ./cluster_api threads $adds
# from_two MODE: the same by a connection.
from_two() {
    local host code
    TF_CONFIG=$(config one "one two")
    ./cluster_api other &
    host=$!
    as two "one two" ./cluster_api "$1" $adds
    code=$?
    wait $host && return $code
}
check "also to another member" from_two threads
adds=100000
is_sanitized && adds=1000
check "64 writers with many adds under way add exactly" as one one ./cluster_api writers $adds
check "also to another member" from_two writers
handles=200000
is_sanitized && handles=70000 # more than there are numbers
check "cluster_handles.c compiles" compile cluster_handles
check "a member may open and free any number of handles, and remove what it opened" as one one ./cluster_handles $handles

# Watches whose time is over: the host lets go of them. More than a member may have waiting.
waits=100000
is_sanitized && waits=3000
check "short_waits.c compiles" compile short_waits
for pair in "one two" "two one"; do
    TF_CONFIG=$(config "${pair#* }" "one two")
    ./short_waits stay &
    check "$waits waits of ${pair% *} at one end at their deadlines" as "${pair% *}" "one two" ./short_waits $waits
    wait $!
    check "and the other member ends well" test $? = 0
done

# A host that is killed and comes again without a journal.
mkfifo go
TF_CONFIG=$(config two "one two")
./cluster_api forgets <go >told 2>forgets &
user=$!
TF_CONFIG=$(config one "one two")
./cluster_api other 2>/dev/null &
host=$!
exec 3>go
until [ -s told ] || ! kill -0 $user 2>/dev/null; do sleep 0.01; done
{ kill -9 $host && wait $host; } 2>/dev/null # the shell would say so
./cluster_api host 2>/dev/null &
host=$!
echo >&3
exec 3>&-
wait $user
code=$?
check "a host that comes again without its journal is told by ABORTED, and can be used anew" test $code = 0
[ $code = 0 ] || note <forgets
check "the sentence names it" grep -q '/one/0' forgets
wait $host
check "the host ends when its user has" test $? = 0

# The example, with a file that is not there.
example=$(dirname "$WEFT")/examples/count
printf 'one two\nthree\n' >a.txt && printf 'four five six\n' >b.txt
printf 'a.txt\nmissing.txt\n\nb.txt' >filenames.txt
start() {
    TF_CONFIG=$(config "$1" "files reduce map")
    "$example" >"$1.out" 2>"$1.err" &
}
start files && files=$!
start reduce && reduce=$!
start map && map=$!
wait $map
check "count: the member that could not read a file says so by its exit code" test $? = 1
wait $files && wait $reduce
check "count: the others end well" test $? = 0
printf '3 words in a.txt\n3 words in b.txt\n' >expected
sort map.out >actual
same "count: each file is counted once" expected actual
check "count: the total is that of the others" eval 'tail -n 1 reduce.out | grep -qx "6 words so far"'
check "count: three tries" eval '[ "$(grep -c "^missing.txt: No such file" map.err)" = 3 ]'
check "count: and it is said where the name is now" grep -q 'is in /files/0/filename_queue.dead now' map.err

finish
