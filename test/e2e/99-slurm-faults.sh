#!/bin/bash
# Members as jobs of Slurm, when things die: the node, slurmd, srun, the agent; preemption, scancel.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "jobs of Slurm that die" slurm

queue_is_empty() { [ -z "$(squeue -h)" ]; }
until_so() {
    local i
    for ((i = 0; i < 3000; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    return 1
}
# Each start of a member is a line in `started`: MEMBER| start NODE. A member ends when there is a file /tmp/end on its node.
begin() {
    rm -f started
    "$WEFT" cluster run --on slurm: "$@" sh -c 'echo start $(hostname) $SLURM_JOB_ID; until [ -e /tmp/end ]; do sleep 0.1; done' >started 2>"$err" &
    pid=$!
}
starts() { grep -c start started; }
end_members() { for node in h1 h2; do hosts exec $node touch /tmp/end 2>/dev/null; done; }
forget() { for node in h1 h2; do hosts exec $node rm -f /tmp/end; done; }
ends_with() { # SENTENCE CODE
    wait $pid
    check "$1" is $? "$2"
}

fresh_slurm 2

begin --role a=2 --restart 1
until_so eval '[ $(starts) = 2 ]'
scancel "$(squeue -h -r -o %i | head -n 1)"
check "a job that is cancelled is replaced" until_so eval '[ $(starts) -ge 3 ]'
says "and that is told" 'is lost: '
check_not "without a charge" grep -q '(1 of 1)' "$err"
end_members
ends_with "and the run ends well" 0
forget

begin --role a=2 --restart 1
until_so eval '[ $(starts) = 2 ]'
node=$(sed -n 's/^a\/0| start \(h[12]\) .*/\1/p' started)
hosts exec "$node" sh -c 'kill -9 $(pidof weft-agent) $(ps -eo pid,comm | awk "/weft-/ { print \$1 }")'
check "kill -9 of agents: their members start again" until_so eval '[ $(starts) -ge 3 ]'
end_members
ends_with "and the run ends well" 0
forget

begin --role a=1
until_so eval '[ $(starts) = 1 ]'
pkill -9 -P "$(pgrep -P $pid | paste -sd ,)" srun
until_so eval '! kill -0 $pid'
ends_with "kill -9 of srun, and no restart is allowed: the run fails" 137
says "with the reason" 'is lost: '
check "no job is left" until_so queue_is_empty
nothing_left_on_hosts "and nothing on the nodes"

# A job of a better partition takes the place of one in `low`.
rm -f started
"$WEFT" cluster run --on slurm:low --restart 1 --role a=1 sh -c 'echo start $(hostname) $SLURM_JOB_ID; until [ -e /tmp/end ]; do sleep 0.1; done' >started 2>"$err" &
pid=$!
until_so eval '[ $(starts) = 1 ]'
node=$(sed -n 's/^a\/0| start \(h[12]\) .*/\1/p' started)
env -u TMPDIR srun --chdir=/ -p high -w "$node" --exclusive true 2>/dev/null
check "a job that is preempted starts again" until_so eval '[ $(starts) = 2 ]'
says "and that is told" 'preempted'
end_members
ends_with "and the run ends well" 0
forget

begin --role a=2 --restart 1
until_so eval '[ $(starts) = 2 ]'
hosts exec h1 sh -c 'kill -9 $(pidof slurmd)'
sleep 1
check "kill -9 of slurmd: members run on" is "$(starts)" 2
end_members
ends_with "and end well" 0
forget
hosts exec h1 slurmd -N h1

begin --role a=2 --restart 1
until_so eval '[ $(starts) = 2 ]'
node=$(sed -n 's/^a\/0| start \(h[12]\) .*/\1/p' started)
lost=$(grep -c "start $node" started)
hosts kill "$node"
other=h1 && [ "$node" = h1 ] && other=h2
check "a node without power: its members start on another one" until_so eval '[ $(starts) = $((2 + lost)) ]'
check "which is not the same" is "$(tail -n $lost started | grep -c "start $other")" "$lost"
end_members
ends_with "and the run ends well" 0
finish
