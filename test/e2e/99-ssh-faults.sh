#!/bin/bash
# Members on ssh hosts in the background, and hosts that are lost: agents, connections, links and power.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "members on ssh hosts in the background"

cluster() { "$WEFT" cluster "$@"; }
until_so() {
    local i
    for ((i = 0; i < 1500; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    return 1
}
is_state() { [ "$(cluster status "$1" | awk 'NR > 1 { print $2 ":" $3 }' | xargs)" = "$2" ]; }
hosts_of() { cluster status --json "$1" | python3 -c 'import json, sys; print(*[m["host"] for m in json.load(sys.stdin)["members"]])'; }
on_hosts() { [ "$(hosts_of "$1")" = "$2" ]; }

fresh_hosts 3

# --- in the background --------------------------------------------------------------------------------

try cluster up --on ssh://h1,h2 --role ps=1 --role worker=2 sh -c 'echo "here is $(hostname)"; sleep 1000'
check "up returns when all are started" [ "$code" = 0 ]
check "and shows them" [ "$(awk 'NR > 1 { print $2 ":" $3 }' "$out" | xargs)" = 'ps/0:running worker/0:running worker/1:running' ]
check "with their hosts" [ "$(hosts_of default)" = 'h1 h2 h1' ]
until_so eval 'cluster logs worker/0 | grep -q h2'
printf 'here is h2\n' >expected
gives "their output is here" expected cluster logs worker/0
fails_with "a program that is not there" 4 'cannot start nosuch' cluster up --name blue --on ssh://h1,h2 --role a=2 nosuch
check "leaves nothing" [ ! -e "$XDG_STATE_HOME/weft/clusters/blue" ]
try cluster down
check "down" [ "$code" = 0 ]
check "leaves nothing on any host" is_empty_of_weft

cluster up -q --on ssh://h1,h2 --role a=2 sh -c 'echo cause >&2; sleep 1; exit $((WEFT_INDEX * 5))'
try cluster wait
check "wait has the exit code" [ "$code" = 5 ]
says "and the last lines" '^  cause$'
cluster up -q --on ssh://h1 --role a=1 sleep 1000
kill -9 "$(cluster status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["pid"])')"
nothing_left_on_hosts "kill -9 of the supervisor: the agents end"
cluster down -q

# --- hosts that are lost ------------------------------------------------------------------------------

agent_of() { hosts exec "$1" pgrep -x weft-agent; }
sleeper='trap "exit 0" TERM; echo "start on $(hostname)"; sleep 1000 & wait'

try_lost() { # WHAT HOST COMMAND...: a run on h1 and h2 whose host h2 is lost by the command
    : >"$out" # without the lines of the one before
    "$WEFT" cluster run --on ssh://h1,h2 --role a=2 sh -c "$sleeper" >"$out" 2>"$err" &
    local pid=$!
    until_so eval '[ $(grep -c start "$out") = 2 ]'
    "${@:3}" >/dev/null
    wait $pid
    code=$?
    check "$1: the run fails" [ "$code" = 137 ]
    says "and names the host" "the host $2 is lost: "
    says "and the member" 'a/1 was lost with its host'
}
kill_agent() { hosts exec h2 sh -c 'kill -9 $(pgrep -x weft-agent)'; }
kill_connection() { hosts exec h2 sh -c 'kill -9 $(pgrep -f "[s]shd: root")'; }
try_lost "kill -9 of an agent" h2 kill_agent
nothing_left_on_hosts "its members have ended, too"
try_lost "kill -9 of the connection" h2 kill_connection
nothing_left_on_hosts "and the agent"
try_lost "a host without power" h2 hosts kill h2
hosts start h2
check "a host without power keeps its files" hosts exec h2 sh -c 'ls -d /tmp/weft-work-*'
try weft cluster run --on ssh://h2 --role a=1 true
check "the next run there removes them" [ "$code/$(hosts exec h2 sh -c 'ls /tmp | wc -l')" = 0/0 ]
try_lost "a link that is cut" h2 hosts cut h2
is_rid_of_members() { ! left_on "$1" | grep -qv 'process sshd'; }
until_so is_rid_of_members h2
check "ends the agent, too" is_rid_of_members h2
hosts heal
try_lost "a host that is frozen" h2 hosts freeze h2
hosts thaw h2
until_so is_rid_of_members h2
check "the agent ends when it is thawed" is_rid_of_members h2

cluster up -q --on ssh://h1,h2,h3 --role a=2 --restart 1 sh -c "$sleeper"
check "two hosts are enough" on_hosts default 'h1 h2'
kill_agent
until_so on_hosts default 'h1 h3'
check "a member that may be restarted moves to another host" on_hosts default 'h1 h3'
until_so is_state default 'a/0:running a/1:running'
until_so eval 'cluster logs a/1 | grep -q "start on h3"'
check "and runs there" eval 'cluster logs a/1 | grep -q "start on h3"'
check "which is not counted as a restart" [ "$(cluster status --json | python3 -c 'import json, sys; print(*[m["restarts"] for m in json.load(sys.stdin)["members"]])')" = '0 0' ]
check "weft.log has the loss" eval 'cluster logs default weft | grep -q "the host h2 is lost"'
check "and that a journal there is lost" eval 'cluster logs default weft | grep -q "a journal that it kept in WEFT_JOURNAL on h2 is lost"'
hosts exec h3 sh -c 'kill -9 $(pgrep -x weft-agent)'
until_so on_hosts default 'h1 h1'
check "two losses: the host that is left has both" on_hosts default 'h1 h1'
hosts exec h1 sh -c 'kill -9 $(pgrep -x weft-agent)'
try cluster wait
check "no host is left: the run fails" [ "$code" = 3 ]
check "and says so" eval 'cluster logs default weft | grep -q "there is no other host for it: all are lost"'
cluster down -q
nothing_left_on_hosts "nothing is left on any host"

: >"$out"
"$WEFT" cluster run --on ssh://h1,h2 --role a=1 --restart 1 --journal /tmp/shared sh -c "$sleeper" >"$out" 2>"$err" &
pid=$!
until_so grep -q 'start on h1' "$out"
hosts exec h1 sh -c 'kill -STOP $(pgrep -x weft-agent)'
# Two of the same member at once would be two lines of its name and host here.
until_so grep -q 'start on h2' "$out"
check "an agent that is stopped: its members have ended when they start elsewhere" [ -z "$(hosts exec h1 pgrep sleep)" ]
says "with the journals that all hosts share" 'a/0 is started again on another host, with the journals in /tmp/shared'
hosts exec h1 sh -c 'kill -CONT $(pgrep -x weft-agent)'
until_so is_rid_of_members h1
check "and it ends when it continues" is_rid_of_members h1
kill -TERM $pid
wait $pid
nothing_left_on_hosts "nothing is left on any host"

# --- an agent of another version ------------------------------------------------------------------------

cat >old-agent.py <<'END'
import os, struct, sys
def field(number, value):
    data = value.encode() if isinstance(value, str) else b""
    return bytes([number << 3 | 2, len(data)]) + data if data else bytes([number << 3, value])
payload = field(1, 1) + field(2, "9.9.9") + field(3, "h") + field(4, "h") + field(5, "/tmp")
mark = sys.argv[-1].split("weft-")[-1].strip("'\" ")
os.write(1, b"weft-" + mark.encode() + b" have\n")
os.read(0, 8)
os.write(1, struct.pack("<IB3x", len(payload), 71) + payload)
os.read(0, 1 << 20)
END
fails_with "an agent of another version" 1 'h1 is weft 9\.9\.9 .*this is weft' \
    weft cluster run --ssh "python3 $PWD/old-agent.py" --on ssh://h1 --role a=1 true
finish
