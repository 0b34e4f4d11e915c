# Answers of jobs in HDFS: the same bytes as here, all or nothing, and what is left when runs, daemons and quotas end them. Sourced by `run`.
# shellcheck shell=bash disable=SC2154

weft put data hdfs:///in
mkdir tmp
export TMPDIR=$dir/tmp
# none_left: no hidden name of ours in HDFS or here, other than those that match the pattern.
none_left() {
    local names
    names=$({ weft ls -R hdfs:/// | grep weft-; ls -A "$TMPDIR"; } | grep -v "${1:-^$}")
    is "$names" ""
}
# same_output DIR URL: the same files with the same bytes.
same_output() {
    rm -rf back
    weft get "$2" back && diff -r "$1" back
}
# both SENTENCE WORD...: an output here and there; the words with data/ for @, and out for %.
both() {
    local sentence=$1
    shift
    rm -rf out here
    weft run -q --force "${@//@/data}" -o here/ >/dev/null 2>"$err" || { not_ok "$sentence"; note <"$err"; return; }
    try weft run -q --force "${@//@/hdfs:///in}" -o hdfs:///out/
    # The manifest names the inputs.
    sed -i '/"identity"/,$d' here/_manifest.json
    check "$sentence" eval 'is $code 0 && rm -rf back && weft get hdfs:///out back && sed -i "/\"identity\"/,\$d" back/_manifest.json && diff -r here back'
}
both "wordcount in parts" --reducers 5 wordcount @
both "sort, one part" --reducers 1 sort @/a/x
both "without a reducer" --map 'tr a-z A-Z' @/a.txt
both "compressed" --compress zstd --reducers 3 wordcount @
both "on several workers" --workers 2 -n 1 --reducers 4 wordcount @
check "Hadoop reads them" eval 'weft run -q --force --reducers 3 wordcount hdfs:///in -o hdfs:///out/ && dfs -cat "/out/part-*" | cmp - <(answer wordcount data)'
check "Hadoop sees them as it makes them" eval 'dfs -ls /out | grep -E "^-rw-r--r-- .* /out/_SUCCESS$" && dfs -ls / | grep -E "^drwxr-xr-x .* /out$"'
check "a file" eval 'weft run -q wordcount hdfs:///in -o hdfs:///new/directory/file && weft cat hdfs:///new/directory/file | cmp - <(answer wordcount data)'
check "by the address of the name node" eval "weft run -q wordcount data -o hdfs://$at/by-address && weft cat hdfs:///by-address | cmp - <(answer wordcount data)"
check "an answer without a byte" eval 'weft run -q --output hdfs:///none grep "no such word" data/a.txt; weft ls -l hdfs:///none | awk "{print \$4}" | grep -x 0 && weft run -q --output hdfs:///nones/ grep "no such word" data/a.txt; weft ls hdfs:///nones/_SUCCESS'
check "it is an input again" eval 'weft run -q sort hdfs:///out | cmp - <(answer wordcount data | answer sort -)'

# ---- What is there -----------------------------------------------------------------------------------------------

fails_with "a file that is there stays" 5 'exists already' weft run wordcount data/a.txt -o hdfs:///new/directory/file
fails_with "a directory of another job stays" 5 'exists already' weft run sort data/a.txt -o hdfs:///out/
check "the same command has nothing to do" eval 'weft run --reducers 3 wordcount hdfs:///in -o hdfs:///out/ 2>said; is $? 0; grep "exists already, complete" said'
weft put data/a.txt hdfs:///out/part-00001 --force
fails_with "unless a part was changed" 5 'the manifest says' weft run --reducers 3 wordcount hdfs:///in -o hdfs:///out/
weft put data/a.txt hdfs:///out/notes
fails_with "--force does not remove what is not of an output" 5 'other files than those' weft run --force wordcount data -o hdfs:///out/
weft rm hdfs:///out/notes
check "but an output" eval 'weft run -q --force sort data/a.txt -o hdfs:///out/ && weft cat "hdfs:///out/part-*" | cmp - <(answer sort data/a.txt)'
check "and a file, with its permissions" eval 'dfs -chmod 640 /new/directory/file; weft run -q --force sort data/a.txt -o hdfs:///new/directory/file && weft ls -l hdfs:///new/directory/file | grep "^-rw-r-----"'
fails_with "a directory is not a file" 2 'is a directory' weft run --force sort data/a.txt -o hdfs:///out
fails_with "a file is not a directory" 5 'is not a directory' weft run --force sort data/a.txt -o hdfs:///by-address/
fails_with "the root" 2 'root cannot be' weft run --force sort data/a.txt -o hdfs:///
check "an output among the inputs is left out" eval 'for i in 1 2; do weft run --force wordcount hdfs:///in -o hdfs:///in/out/ 2>said || exit; done; grep "does not read its own output" said && weft cat "hdfs:///in/out/part-*" | cmp - <(answer wordcount data); weft rm -r hdfs:///in/out'
fails_with "and refused by its name" 2 'is in an output of this run' weft run --force wordcount hdfs:///out/part-00000 -o "hdfs://$at/out/"
check "a file is sorted in place" eval 'weft put data/a.txt hdfs:///place && weft run -q --force sort hdfs:///place -o hdfs:///place && weft cat hdfs:///place | cmp - <(answer sort data/a.txt)'
check "a dry run makes nothing" eval 'weft run --dry-run wordcount data -o hdfs:///dry/ >plan && grep "output   hdfs:///dry/" plan && ! weft ls hdfs:///dry 2>/dev/null'
fails_with "a place of another user, before the work" 5 'Permission denied' env HADOOP_USER_NAME=alice WEFT_HDFS_TEST=1 "$WEFT" run --map 'touch worked; cat' data/a.txt -o hdfs:///in/mine/
check "before the work" eval '! [ -e worked ]'
fails_with "no name node" 3 'no program listens' weft run wordcount data -o hdfs://127.0.0.1:1/out
check "nothing is left of all that" none_left

# ---- Ends --------------------------------------------------------------------------------------------------------

cat >wait.sh <<'X'
#!/bin/bash
read -r line
touch started
until [ -e go ]; do sleep 0.02; done
echo "$line"
exec cat
X
chmod +x wait.sh
# begin WORD...: starts a run that waits for the file `go` in the last of its tasks; its process is $run.
begin() {
    rm -f started go
    "$WEFT" run -q -n 1 --map ./wait.sh --lines-per-task 10000 "$@" >run.out 2>run.err &
    run=$!
    local i
    for ((i = 0; i < 1000; i++)); do [ -e started ] && return; sleep 0.02; done
}
begin data/a.txt -o hdfs:///stopped/
check "while a job runs its answer is hidden" eval '! weft ls hdfs:///stopped 2>/dev/null && weft ls hdfs:/// | grep "/.stopped.weft-"'
kill -TERM $run
wait $run
check "a signal ends it" is $? 143
check "and leaves nothing there" eval '! weft ls -R hdfs:/// | grep -E "stopped|weft-"'
for kind in / ""; do
    begin data/a.txt -o hdfs:///killed$kind
    kill -9 $run
    wait $run 2>/dev/null
    check "kill -9 leaves nothing that is visible" eval '! weft ls hdfs:///killed 2>/dev/null && weft ls hdfs:/// | grep "\.killed\.weft-"'
    touch go
    check "the next run removes it" eval "weft run -q -n 1 --map ./wait.sh --lines-per-task 10000 data/a.txt -o hdfs:///killed$kind && ! weft ls hdfs:/// | grep weft-"
    check "and has the answer" eval 'weft cat "hdfs:///killed" >got 2>/dev/null || weft cat "hdfs:///killed/part-*" >got; cmp got data/a.txt'
    check "nothing is left here" none_left
    weft rm -r hdfs:///killed
done
begin data/a.txt -o hdfs:///resumed/
sleep 0.2
kill -9 $run
wait $run 2>/dev/null
check "a killed run that has done a part of its work" eval 'ls -A "$TMPDIR" | grep unfinished'
touch go
check "is continued" eval 'weft run -n 1 --map ./wait.sh --lines-per-task 10000 data/a.txt -o hdfs:///resumed/ 2>said; is $? 0 && weft cat "hdfs:///resumed/part-*" | cmp - data/a.txt'
begin data/a.txt -o hdfs:///raced/
(unset TMPDIR; weft run -q sort data/a.txt -o hdfs:///raced/)
touch go
wait $run
check "of two runs from different places the slower one loses" eval 'is $? 5; grep "appeared while the job was running" run.err'
check "and the answer is the other one's" eval 'weft cat "hdfs:///raced/part-*" | cmp - <(answer sort data/a.txt)'
"$WEFT" server -q --listen localhost:0 --port-file port2 --reducers 3 wordcount hdfs:///in -o hdfs:///served/ 2>server.err &
server=$!
for ((i = 0; i < 500; i++)); do [ -s port2 ] && break; sleep 0.02; done
(unset HADOOP_CONF_DIR HADOOP_HOME; weft client -q -n 1 "$(cat port2)" 2>client2.err)
wait $server
check "a server writes to HDFS" is $? 0
check "a client reads what the server means, without a configuration" is "$(wc -c <client2.err)" 0
check "what its clients have made" eval 'weft cat "hdfs:///served/part-*" | cmp - <(answer wordcount data)'

# ---- Daemons -----------------------------------------------------------------------------------------------------

dfsadmin -safemode enter >"$err"
fails_with "a name node in safe mode is named" "1|3" 'safe ?mode' timeout 200 "$WEFT" run -q sort data/a.txt -o hdfs:///safe
dfsadmin -safemode leave >>"$err"
begin data/a.txt -o hdfs:///safe/
dfsadmin -safemode enter >"$err"
touch go
sleep 2
dfsadmin -safemode leave >>"$err"
wait $run
check "one that leaves it in time is waited for" eval 'is $? 0; weft cat "hdfs:///safe/part-*" | cmp - data/a.txt'
weft put empty hdfs:///small/empty
dfsadmin -setSpaceQuota 4m /small
generate words 9000000 3 >many
fails_with "a full quota is named" 5 'quota' weft run -q sort many -o hdfs:///small/out/
check "and the work is kept" eval 'ls -A "$TMPDIR" | grep unfinished'
dfsadmin -clrSpaceQuota /small
check "for the same command" eval 'weft run sort many -o hdfs:///small/out/ 2>said; is $? 0 && weft cat "hdfs:///small/out/part-*" | cmp - <(answer sort many)'
begin data/a.txt -o hdfs:///away/
hadoop_kill namenode
touch go
sleep 1
hadoop_start namenode
wait $run
check "a name node that restarts is waited for" eval 'is $? 0; weft cat "hdfs:///away/part-*" | cmp - data/a.txt'
hadoop_await 2
generate words 120000000 4 >large
"$WEFT" run -q --reducers 4 sort large -o hdfs:///large/ 2>large.err &
run=$!
for ((i = 0; i < 1000; i++)); do weft ls -l 'hdfs:///.large.weft-*/{,.}part-*' 2>/dev/null | awk '$4 > 0 { found = 1 } END { exit !found }' && break; sleep 0.02; done
hadoop_kill datanode2
wait $run
check "a data node is killed while an answer is written" is $? 0
note <large.err
check "no byte is missing" eval 'weft cat "hdfs:///large/part-*" | cmp - <(answer sort large)'
hadoop_start datanode2
hadoop_await 2
rm -f large many
weft rm -r hdfs:///large
# The slower one of the two that raced keeps its work, as it would here.
rm -r "$TMPDIR"/.weft-*-raced.weft-unfinished
check "nothing is left of all answers" none_left
unset TMPDIR
