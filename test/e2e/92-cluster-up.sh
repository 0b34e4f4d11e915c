#!/bin/bash
# weft cluster up, status and down: clusters that go on when the command has ended.
# also: asan
. "$(dirname "$0")/lib.sh"

state=$XDG_STATE_HOME/weft/clusters

# These leave processes behind on purpose, so no corral looks after them: each cluster is taken down.
cluster() { "$WEFT" cluster "$@"; }
trap 'cluster down -q 2>/dev/null; cluster down -q blue 2>/dev/null; cleanup' EXIT

until_so() {
    local i
    for ((i = 0; i < 1000; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    return 1
}
is_state() { [ "$(cluster status "$1" | awk 'NR > 1 { print $2 ":" $3 }' | xargs)" = "$2" ]; }

try cluster status
check "nothing is up at the beginning" [ "$code/$(wc -c <"$out")" = 0/0 ]
fails_with "nothing can be taken down" 4 'there is no cluster default' cluster down

mkfifo alive
exec 8<>alive # so that nobody waits to open it
cat >member.sh <<'END'
exec 9>alive
echo "$WEFT_ROLE $WEFT_INDEX says $*"
echo aside >&2
sleep 1000
END
try cluster up --role files=1 --role map=2 sh member.sh hello
check "up returns when all are started" [ "$code" = 0 ]
check "and shows them" [ "$(awk 'NR > 1 { print $2 ":" $3 }' "$out" | xargs)" = 'files/0:running map/0:running map/1:running' ]
says "and where their lines are" "$state/default"
check "they go on" is_state default 'files/0:running map/0:running map/1:running'
until_so grep -q aside "$state/default/map_1.log"
printf 'map 1 says hello\naside\n' >expected
same "a member's lines are in its log" expected "$state/default/map_1.log"
gives "weft cluster logs shows them" expected cluster logs map/1
until_so grep -q aside "$state/default/map_0.log"
until_so grep -q aside "$state/default/files_0.log"
printf 'files/0| files 0 says hello\nfiles/0| aside\nmap/0  | map 0 says hello\nmap/0  | aside\n' >expected
try cluster logs
check "of all members, with their names" eval 'head -n 4 "$out" | cmp - expected'
printf 'map/0| aside\nmap/1| aside\n' >expected
gives "of a role, the last lines" expected cluster logs -n 1 default map
fails_with "a member that there is not" 4 'no member map/7' cluster logs map/7
fails_with "a cluster that there is not" 4 'no cluster green' cluster logs green
try cluster status --json
check "--json" python3 - "$out" <<'END'
import json, os, sys
(cluster,) = [json.loads(line) for line in open(sys.argv[1])]
assert cluster["name"] == "default" and cluster["alive"] and not cluster["ended"], cluster
assert [m["member"] for m in cluster["members"]] == ["files/0", "map/0", "map/1"]
for member in cluster["members"]:
    assert member["state"] == "running" and member["restarts"] == 0, member
    assert f'"{member["address"]}"' in open(f"/proc/{member['pid']}/environ").read()
END
fails_with "one name, one cluster" 5 'the cluster default is up already' cluster up --role a=1 true
check "which goes on unharmed" is_state default 'files/0:running map/0:running map/1:running'

fails_with "a program that is not there" 4 'cannot start nosuch' cluster up --name blue --role a=1 nosuch
check "leaves nothing" [ ! -e "$state/blue" ]
fails_with "a name that is empty" 2 'cannot be the name of a cluster' cluster up --name '' --role a=1 true
fails_with "which takes nothing down, neither" 2 'cannot be the name of a cluster' cluster down ''
fails_with "a name that is none" 2 'cannot be the name of a cluster' cluster up --name ../x --role a=1 true

mkfifo next
try cluster up -q --name blue --role a=1 sh -c 'echo first; read -r line <next; echo "$line"'
cluster logs -f blue a/0 >followed &
follower=$!
until_so grep -q first followed
echo second >next
wait $follower
printf 'first\nsecond\n' >expected
same "logs -f shows what comes and ends with the cluster" expected followed
check "logs of a cluster that has ended can be read" eval 'cluster logs blue | grep -q second'
try cluster up -q --name blue --role a=2 --restart 1 sh -c 'echo; exit $WEFT_INDEX'
check "-q is quiet" [ "$code/$(wc -c <"$out")/$(wc -c <"$err")" = 0/0/0 ]
until_so is_state blue 'a/0:done a/1:failed'
check "what has ended is still known" is_state blue 'a/0:done a/1:failed'
check "weft.log says why" grep -q 'a/1 exited with code 1' "$state/blue/weft.log"
check "all clusters, by name" [ "$(cluster status | awk 'NR > 1 { print $1 }' | uniq | xargs)" = 'blue default' ]
try cluster up -q --name blue --role b=1 sleep 1000
check "a name whose cluster has ended may be used again" is_state blue 'b/0:running'
check "without the logs of before" [ ! -e "$state/blue/a_0.log" ]

fails_with "wait: a cluster that runs takes longer" 6 'has not ended in that time' cluster wait --timeout 200ms blue
pid=$(cluster status --json blue | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')
kill -9 "$pid"
until_so is_state blue 'b/0:lost'
check "kill -9 of who looks after them: the members are lost" is_state blue 'b/0:lost'
fails_with "wait says so" 3 'the process that supervised the cluster blue was killed' cluster wait blue
try cluster down blue
check "and can be taken down" [ "$code" = 0 ]

try cluster up -q --name blue --role a=2 sh -c 'seq 100; echo cause >&2; sleep 0.3; exit $((WEFT_INDEX * 5))'
try cluster wait blue
check "wait ends with the cluster, and with its exit code" [ "$code" = 5 ]
says "and shows why" '^weft: a/1 failed with exit code 5; its last lines:$'
check "by its last lines" [ "$(grep -c '^  ' "$err")/$(tail -n 1 "$err")" = '10/  cause' ]
try cluster up -q --name green --role a=1 true
try cluster wait green
check "a good end is quiet" [ "$code/$(wc -c <"$err")" = 0/0 ]
try cluster down -q green
fails_with "a cluster that there is not" 4 'no cluster green' cluster wait green
cluster down -q blue

try cluster down
check "down" [ "$code" = 0 ]
exec 7<alive 8>&-
check "has ended all members" timeout 20 cat <&7
exec 7<&-
check "and forgotten them" [ -z "$(ls "$state")" ]
nothing_left "no file is left"
finish
