# Tasks go to the clients whose machines have their blocks: two files, each on one data node, and a client with the name of each. Sourced by `run`.
# shellcheck shell=bash disable=SC2154,SC2016

near_client() { # NAME: a client on a machine of that name
    unshare --uts sh -c 'hostname "$1" && exec "$2" client -q -n 1 "$(cat near-port)"' sh "$1" "$WEFT" 2>"client-$1.err" &
}
# count_near FILE NAME: how many tasks of that file were done there.
count_near() { grep -c "^$1 $2\$" near-out || true; }

if is_root && unshare --uts true 2>/dev/null; then
    hadoop=$dir/near
    mkdir "$hadoop"
    hadoop_configure
    # Names that cannot be resolved: nothing can be written by WebHDFS. (A name node does not notice when a data node changes its name.)
    configure_data_node 1 node1
    configure_data_node 2 node2
    hadoop_start namenode datanode1
    hadoop_await 1
    awk 'BEGIN { for (i = 0; i < 40; i++) print "first", i }' >first
    awk 'BEGIN { for (i = 0; i < 40; i++) print "second", i }' >second
    dfs -D dfs.replication=1 -put first /first
    hadoop_start datanode2
    hadoop_await 2
    hadoop_kill datanode1
    hadoop_await 1
    dfs -D dfs.replication=1 -put second /second
    hadoop_start datanode1
    hadoop_await 2
    # Each data node is asked for its blocks when it has started: the name node then knows both files again.
    for ((i = 0; i < 100; i++)); do [ "$(weft cat hdfs:///first hdfs:///second 2>/dev/null | wc -l)" = 80 ] && break; sleep 0.2; done
    printf '%s\n' '#!/bin/sh' 'read -r file rest' 'cat >/dev/null' 'sleep 0.05' 'echo "$file $(hostname)"' >where.sh
    chmod +x where.sh
    rm -f near-port
    "$WEFT" server -q --listen localhost:0 --port-file near-port --lines-per-task 2 --file ./where.sh --map ./where.sh hdfs:///first hdfs:///second >near-out 2>near.err &
    server=$!
    for ((i = 0; i < 500; i++)); do [ -s near-port ] && break; sleep 0.02; done
    near_client node1
    near_client node2
    wait $server
    check "a job of two clients whose machines have a file each" is $? 0
    note <near.err
    check "all tasks are done" is "$(wc -l <near-out)" 40
    # The last ones are anyone's.
    check "those of the first file at its machine" [ "$(count_near first node1)" -ge 16 ]
    check "those of the second file at its" [ "$(count_near second node2)" -ge 16 ]
    sort near-out | uniq -c | note
else
    skip "tasks go where their blocks are" "needs root, for machines of several names"
fi
