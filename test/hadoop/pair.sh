# Two name nodes, one of which is active: reading, writing and jobs when that changes, when one of them is killed, and when none answers. Sourced by `run`.
# shellcheck shell=bash disable=SC2034,SC2154,SC2030,SC2031

hadoop=$dir/pair
mkdir "$hadoop"
check "two name nodes start" hadoop_configure_pair
# activate NAME: one that has just started takes some time until it can; by force, as the other one may be dead.
activate() {
    local i
    for ((i = 0; i < 20; i++)); do haadmin -transitionToActive --forceactive "$1" && return; sleep 0.5; done
    tail -n 20 "$hadoop/log/client"
    return 1
}
check "one becomes active" activate nn1
hadoop_await 1 $((HADOOP_PORTS + 101))
first=hdfs://127.0.0.1:$((HADOOP_PORTS + 100)) second=hdfs://127.0.0.1:$((HADOOP_PORTS + 200))
check "a file is put to the active one" weft put data/a.txt hdfs:///a.txt
check "and read by the name of both" eval 'weft cat hdfs://pair/a.txt | cmp - data/a.txt'
check "a job writes there" eval 'weft run -q wordcount hdfs://pair/a.txt -o hdfs:///one/ && weft cat "hdfs:///one/part-*" | cmp - <(answer wordcount data/a.txt)'
both=hdfs://127.0.0.1:$((HADOOP_PORTS + 200)):$((HADOOP_PORTS + 201)),127.0.0.1:$((HADOOP_PORTS + 100)):$((HADOOP_PORTS + 101))
check "and by the addresses of both, without a configuration" eval '(unset HADOOP_CONF_DIR HADOOP_HOME; weft cat "$both/a.txt") | cmp - data/a.txt'
check "where a file is put, too" eval '(unset HADOOP_CONF_DIR HADOOP_HOME; weft put data/a.txt "$both/c.txt") && weft cat hdfs:///c.txt | cmp - data/a.txt'
"$WEFT" server -q --listen localhost:0 --port-file port3 sort hdfs://pair/a.txt -o served 2>server.err &
server=$!
for ((i = 0; i < 500; i++)); do [ -s port3 ] && break; sleep 0.02; done
check "a client of a job needs none either" eval '(unset HADOOP_CONF_DIR HADOOP_HOME; weft client -q -n 1 "$(cat port3)") && wait $server && cmp served <(answer sort data/a.txt)'
fails_with "the other one says that it is in standby" 3 'StandbyException|standby' timeout 60 "$WEFT" ls "$second/"
check "the doctor knows both" eval 'weft doctor --on hdfs://pair/ >said; is $? 0 && grep -c "active, Hadoop\|standby, Hadoop" said | grep -x 2'
check "the active one answers by its address" eval "weft ls $first/a.txt"

# begin, as in answers.sh: a run that waits for the file `go`.
begin hdfs:///a.txt -o hdfs:///two/
haadmin -transitionToStandby nn1 && activate nn2
touch go
wait $run
check "the other one becomes active during a job" is $? 0
note <run.err
check "whose answer is whole" eval 'weft cat "hdfs:///two/part-*" | cmp - data/a.txt'
check "a file is put to the new one" eval "weft put data/a.txt hdfs:///b.txt && weft cat $second/b.txt | cmp - data/a.txt"
begin hdfs:///b.txt -o hdfs:///three/
hadoop_kill namenode2
touch go
activate nn1
wait $run
check "the active one is killed during a job" is $? 0
note <run.err
check "whose answer is whole, too" eval 'weft cat "hdfs:///three/part-*" | cmp - data/a.txt'
check "nothing unfinished is left" is "$(weft ls hdfs:/// | grep weft-)" ""
haadmin -transitionToStandby nn1
fails_with "where none is active" 3 'StandbyException|standby|no program listens' timeout 100 "$WEFT" ls hdfs:///
