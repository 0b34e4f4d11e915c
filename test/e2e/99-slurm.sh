#!/bin/bash
# weft cluster run --on slurm: members as jobs of a real Slurm, from the queue to the last job, process and file that is left.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "members as jobs of Slurm" slurm

run() { weft cluster run --on slurm: "$@"; }
plain_srun() { env -u TMPDIR srun --chdir=/ "$@"; }
queue_is_empty() { [ -z "$(squeue -h)" ]; }
until_so() {
    local i
    for ((i = 0; i < 1500; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    return 1
}
# With the time that Slurm takes to forget a job that has ended.
nothing_left_anywhere() {
    check "$1: the queue is empty" until_so queue_is_empty
    nothing_left_on_hosts "$1: and so are the nodes"
}

fresh_slurm 2

# --- the same as here -----------------------------------------------------------------------------

try run --role files=1 --role map=3 sh -c 'echo "this is $WEFT_ROLE $WEFT_INDEX"; echo aside >&2; printf end'
sort "$out" >sorted
for member in files/0 'map/0  ' 'map/1  ' 'map/2  '; do
    name=${member%% *}
    printf '%s| end\n%s| this is %s %s\n' "$member" "$member" "${name%/*}" "${name#*/}"
done >expected
same "members run, with their output whole" expected sorted
check "standard error stays standard error" is "$(grep -c '| aside$' "$err")" 4
check "and all is 0" is "$code" 0
check "the queue is empty when it ends" queue_is_empty
nothing_left_on_hosts "and no process and no file is left on a node"

check "30 MB pass, whole" is "$(run --role a=3 sh -c 'yes "$WEFT_INDEX abcdefghijklmnopqrstuvwxyz" | head -c 10000000' 2>"$err" |
    awk '{ n[$1 " " $2 " " $3]++ } END { for (k in n) print k, n[k] }' | grep -cE '^a/([0-2])\| \1 abcdefghijklmnopqrstuvwxyz 34482[789]$')" 3
secret=only-here try run --role a=1 env
check_not "the environment of this machine does not travel" grep -q 'secret=' "$out"
check "that of the node is there" grep -q '| HOME=/root' "$out"
check "and a PATH" grep -q '| PATH=.*/usr/bin' "$out"
check "and what Slurm says of the job" grep -q '| SLURM_JOB_ID=[0-9]' "$out"

try run --role a=3 sh -c 'test $WEFT_INDEX = 1 && exit 7; sleep 100'
check "a member that fails ends the others" is "$code" 7
try run --role a=1 --restart 2 sh -c 'echo >>"$WEFT_JOURNAL/starts"; test $(wc -l <"$WEFT_JOURNAL/starts") = 3'
check "a member is started again, beside its journal" is "$code" 0
fails_with "a program that is not there" 4 'cannot start nosuch: there is no such program' run --role a=1 nosuch
try run --timeout 500ms --role a=3 sleep 100
check "--timeout" is "$code" 6

# --- a job on it --------------------------------------------------------------------------------------

for ((i = 0; i < 20; i++)); do cat "$root"/examples/texts/*; done >book.txt
weft run -q wordcount book.txt >expected
try weft run --on slurm: --clients 2 wordcount book.txt
same "a job whose clients are jobs of Slurm has the bytes of one machine" expected "$out"
says "they have the cores of their jobs" 'has joined with 1 slot .[12] now.'
check "and the queue is empty" until_so queue_is_empty
fails_with "how many is not known" 2 'try: --clients' weft run --on slurm: wordcount book.txt

# --- what Slurm does not give -------------------------------------------------------------------------

on_partition() { weft cluster run --on "slurm:$1" --role a=1 "${@:2}"; }
fails_with "a partition that is not there" 4 'no partition nowhere$' on_partition nowhere true
says "with those that there are" 'it has: all, low, high, gpu'
fails_with "a typo of a partition" 4 'did you mean: --on slurm:gpu' on_partition gqu true
fails_with "a partition like a host" 2 'did you mean: --on slurm:gpu' on_partition //gpu true
fails_with "a typo of the launcher" 2 'did you mean: slurm:' weft cluster run --on slrum:gpu --role a=1 true
check "a partition has its nodes" is "$(on_partition gpu hostname)" "a/0| h2"
fails_with "an option that sbatch does not know" 5 'unrecognized option.*nonsense' env WEFT_SLURM=--nonsense "$WEFT" cluster run --on slurm: --role a=1 true
fails_with "more memory than a node has" 5 'no node of Slurm has what a member asks for' run --role a=1 --memory 1T true
fails_with "more cores than a node has" 5 'no node of Slurm has what a member asks for' run --role a=1 --cpus 64 true
fails_with "a feature that no node has" 5 'no node of Slurm has what a member asks for' run --role a=1 --constraint fpga true
check "no job is left of these" queue_is_empty
try run --role chief=1 --role work=1 --gpus chief=2 --cpus work=3 --memory work=300M --constraint work=gpu sh -c \
    'echo $(hostname) $SLURM_CPUS_PER_TASK; squeue -h --jobs=$SLURM_JOB_ID -o "%m %C %b %f"; echo ${SLURM_GPUS_ON_NODE-none}'
sort "$out" >sorted
cat >expected <<'END'
chief/0| 100M 1 gres:gpu:2 (null)
chief/0| 2
chief/0| h2
work/0 | 300M 3 N/A gpu
work/0 | h2 3
work/0 | none
END
same "what a role needs becomes what its jobs have" expected sorted
check "processes of an instance share a job" is "$(run --role a=1 --processes 3 --cpus 3 sh -c 'echo $SLURM_JOB_ID' | sed 's/.*| //' | sort -u | wc -l)" 1
check "options of sbatch" is "$(WEFT_SLURM='--constraint=gpu --comment=x' "$WEFT" cluster run --on slurm: --role a=1 hostname)" "a/0| h2"
try run --timeout 8s --role a=9 sleep 100
check "more members than there is room for wait, until --timeout" is "$code" 6
says "and the reason is told" 'of 9 jobs wait in the queue of Slurm: .*\((Resources|Priority)\); squeue --jobs='
check "the queue is empty again" queue_is_empty
nothing_left_on_hosts "and so are the nodes"

plain_srun --exclusive -w h1 sleep 3 &
plain_srun --exclusive -w h2 sleep 3 &
until_so eval '[ $(squeue -h -t R | wc -l) = 2 ]'
try run --role a=3 sh -c 'echo $WEFT_INDEX'
check "members wait for their turn, and run then" is "$code/$(sort "$out" | tr '\n' ' ')" "0/a/0| 0 a/1| 1 a/2| 2 "
wait
check "the queue is empty when it ends" queue_is_empty

# --- ends ---------------------------------------------------------------------------------------------

begin() {
    "$WEFT" cluster run --on slurm: --role a=4 sh -c 'setsid sleep 1001 & echo started; sleep 1000' >started 2>"$err" &
    pid=$!
    until_so eval '[ $(grep -c started started) = 4 ]'
}
begin
kill -TERM $pid
wait $pid
check "SIGTERM ends it" is $? 143
check "the queue is empty then" queue_is_empty
nothing_left_on_hosts "and so are the nodes"
begin
kill -9 $pid
wait $pid 2>/dev/null
nothing_left_anywhere "after kill -9"

plain_srun --exclusive -w h1 sleep 1002 &
plain_srun --exclusive -w h2 sleep 1002 &
until_so eval '[ $(squeue -h -t R | wc -l) = 2 ]'
"$WEFT" cluster run --on slurm: --role a=3 sleep 1000 2>"$err" &
pid=$!
until_so eval '[ $(squeue -h -r -t PD | wc -l) = 3 ]'
kill -INT $pid 2>/dev/null
kill -TERM $pid
wait $pid
check "a run that waits in the queue ends, too" is $? 143
check "and leaves nothing there" is "$(squeue -h -r -t PD | wc -l)" 0
scancel --me
wait

try "$WEFT" cluster up --on slurm: --role a=2 sleep 1000
check "in the background" is "$code" 0
check "its jobs run" until_so eval '[ $(squeue -h -t R | wc -l) = 2 ]'
check "down" "$WEFT" cluster down
check "leaves no job" queue_is_empty
nothing_left_on_hosts "and nothing on the nodes"
finish
