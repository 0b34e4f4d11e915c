# What the tests with a real Hadoop source: its daemons, on loopback, below $hadoop (a directory).
#
#   hadoop_jars            fetches the jars by Maven once, into build/hadoop (HADOOP_VERSION, default 3.4.1)
#   hadoop_configure       writes the configuration; HADOOP_CONF_DIR is its directory
#   hadoop_configure_pair  the same for two name nodes, hdfs://pair; and one data node
#   hadoop_start NAME...   namenode, namenode1, namenode2, datanode1, datanode2;   hadoop_kill NAME...: by SIGKILL
#   haadmin WORD...        Hadoop's own command about which of two name nodes is active
#   hadoop_await           until the name node has left its safe mode and knows the data nodes that run
#   dfs WORD...            Hadoop's own command;   dfsadmin WORD...: that of its administrators
#
# Ports are 20000 and more above the usual ones, from $HADOOP_PORTS on.
# shellcheck shell=bash

HADOOP_VERSION=${HADOOP_VERSION:-3.4.1}
HADOOP_PORTS=${HADOOP_PORTS:-27000}
hadoop=${hadoop:-} root=${root:?}
jars=$root/build/hadoop/$HADOOP_VERSION
java_words=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.net.preferIPv4Stack=true)

hadoop_jars() {
    [ "$jars/.complete" -nt "$root/test/hadoop/pom.xml" ] && return 0
    mkdir -p "$jars"
    mvn -B -ntp -q -f "$root/test/hadoop/pom.xml" -Dhadoop="$HADOOP_VERSION" \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DoutputDirectory="$jars" -DincludeScope=runtime && touch "$jars/.complete"
}

# properties NAME=VALUE...: as Hadoop's XML.
properties() {
    local word
    echo '<?xml version="1.0"?><configuration>'
    for word; do
        echo "  <property><name>${word%%=*}</name><value>${word#*=}</value></property>"
    done
    echo '</configuration>'
}

# configure_data_node NUMBER: its own directory and ports, and all of the rest.
configure_data_node() {
    local at=$hadoop/conf-datanode$1 port=$((HADOOP_PORTS + 10 * $1))
    mkdir -p "$at/webapps/datanode"
    cp "$HADOOP_CONF_DIR/core-site.xml" "$HADOOP_CONF_DIR/log4j.properties" "$at"
    properties "${common[@]}" "dfs.datanode.data.dir=file://$hadoop/data$1" "dfs.datanode.address=127.0.0.1:$port" \
        "dfs.datanode.http.address=127.0.0.1:$((port + 1))" "dfs.datanode.ipc.address=127.0.0.1:$((port + 2))" >"$at/hdfs-site.xml"
}

log_settings() {
    printf '%s\n' 'log4j.rootLogger=INFO,out' 'log4j.appender.out=org.apache.log4j.ConsoleAppender' \
        'log4j.appender.out.target=System.err' 'log4j.appender.out.layout=org.apache.log4j.PatternLayout' \
        'log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n' >"$HADOOP_CONF_DIR/log4j.properties"
}

hadoop_configure() {
    export HADOOP_CONF_DIR=$hadoop/conf
    # The published jar lacks the pages of the web server; it asks for their directory.
    mkdir -p "$HADOOP_CONF_DIR/webapps/hdfs" "$hadoop/log"
    common=("dfs.replication=2" "dfs.blocksize=1048576" "dfs.namenode.fs-limits.min-block-size=4096"
        "dfs.namenode.name.dir=file://$hadoop/name" "dfs.namenode.rpc-address=127.0.0.1:$HADOOP_PORTS"
        "dfs.namenode.http-address=127.0.0.1:$((HADOOP_PORTS + 1))" "dfs.namenode.safemode.extension=0"
        "dfs.datanode.hostname=127.0.0.1" "dfs.namenode.datanode.registration.ip-hostname-check=false"
        "dfs.heartbeat.interval=1" "dfs.permissions.enabled=true" "dfs.namenode.heartbeat.recheck-interval=1000"
        "dfs.client.block.write.replace-datanode-on-failure.policy=NEVER" "dfs.ls.limit=7")
    properties "fs.defaultFS=hdfs://127.0.0.1:$HADOOP_PORTS" "hadoop.tmp.dir=$hadoop/tmp" >"$HADOOP_CONF_DIR/core-site.xml"
    properties "${common[@]}" >"$HADOOP_CONF_DIR/hdfs-site.xml"
    log_settings
    configure_data_node 1
    configure_data_node 2
    (hadoop_java "$HADOOP_CONF_DIR" namenode.NameNode -format -nonInteractive) >"$hadoop/log/format" 2>&1
}

# Two name nodes with a shared journal in a directory; a person says which one is active (haadmin -transitionToActive nn1).
hadoop_configure_pair() {
    local i at
    export HADOOP_CONF_DIR=$hadoop/conf
    mkdir -p "$HADOOP_CONF_DIR" "$hadoop/log" "$hadoop/shared"
    common=("dfs.replication=1" "dfs.blocksize=1048576" "dfs.namenode.safemode.extension=0" "dfs.nameservices=pair" "dfs.ha.namenodes.pair=nn1,nn2"
        "dfs.namenode.shared.edits.dir=file://$hadoop/shared" "dfs.ha.fencing.methods=shell(/bin/true)" "dfs.ha.tail-edits.period=1"
        "dfs.client.failover.proxy.provider.pair=org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
        "dfs.datanode.hostname=127.0.0.1" "dfs.heartbeat.interval=1" "dfs.namenode.datanode.registration.ip-hostname-check=false")
    for i in 1 2; do
        common+=("dfs.namenode.rpc-address.pair.nn$i=127.0.0.1:$((HADOOP_PORTS + 100 * i))"
            "dfs.namenode.http-address.pair.nn$i=127.0.0.1:$((HADOOP_PORTS + 100 * i + 1))")
    done
    properties "fs.defaultFS=hdfs://pair" "hadoop.tmp.dir=$hadoop/tmp" >"$HADOOP_CONF_DIR/core-site.xml"
    properties "${common[@]}" >"$HADOOP_CONF_DIR/hdfs-site.xml"
    log_settings
    for i in 1 2; do
        at=$hadoop/conf-namenode$i
        mkdir -p "$at/webapps/hdfs"
        cp "$HADOOP_CONF_DIR/core-site.xml" "$HADOOP_CONF_DIR/log4j.properties" "$at"
        properties "${common[@]}" "dfs.ha.namenode.id=nn$i" "dfs.namenode.name.dir=file://$hadoop/name$i" >"$at/hdfs-site.xml"
    done
    configure_data_node 1
    (hadoop_java "$hadoop/conf-namenode1" namenode.NameNode -format -nonInteractive) >"$hadoop/log/format" 2>&1 || return
    hadoop_start namenode1
    (hadoop_java "$hadoop/conf-namenode2" namenode.NameNode -bootstrapStandby -nonInteractive) >"$hadoop/log/standby" 2>&1 || return
    hadoop_start namenode2 datanode1
}

hadoop_java() { # CONFIGURATION CLASS WORD...: instead of this shell
    local conf=$1 class=$2
    shift 2
    exec java -Xmx192m "${java_words[@]}" -Dhadoop.log.dir="$hadoop/log" -cp "$conf:$jars/*" "org.apache.hadoop.hdfs.server.$class" "$@"
}

hadoop_start() {
    local name
    for name; do
        case $name in
        namenode) hadoop_java "$HADOOP_CONF_DIR" namenode.NameNode >>"$hadoop/log/$name" 2>&1 & ;;
        namenode?) hadoop_java "$hadoop/conf-$name" namenode.NameNode >>"$hadoop/log/$name" 2>&1 & ;;
        datanode*) hadoop_java "$hadoop/conf-$name" datanode.DataNode >>"$hadoop/log/$name" 2>&1 & ;;
        esac
        daemons[$name]=$!
    done
}
declare -A daemons=()

hadoop_kill() {
    local name
    for name; do
        kill -9 "${daemons[$name]}" 2>/dev/null || true
        wait "${daemons[$name]}" 2>/dev/null || true
        unset "daemons[$name]"
    done
}

hadoop_end() { hadoop_kill "${!daemons[@]}"; }

hadoop_await() { # COUNT [PORT]: of data nodes; of the name node's web server
    local i state=
    for ((i = 0; i < 300; i++)); do
        state=$(curl -s -m 5 "http://127.0.0.1:${2:-$((HADOOP_PORTS + 1))}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState" || true)
        grep -q "\"NumLiveDataNodes\" : $1," <<<"$state" && grep -q '"FSState" : "Operational"' <<<"$state" && return 0
        sleep 0.2
    done
    echo "$state" | note
    return 1
}

dfs() { LC_ALL=C.UTF-8 java -Xmx256m "${java_words[@]}" -cp "$HADOOP_CONF_DIR:$jars/*" org.apache.hadoop.fs.FsShell "$@" 2>>"$hadoop/log/dfs"; }
dfsadmin() { LC_ALL=C.UTF-8 java -Xmx256m "${java_words[@]}" -cp "$HADOOP_CONF_DIR:$jars/*" org.apache.hadoop.hdfs.tools.DFSAdmin "$@" 2>>"$hadoop/log/dfs"; }
haadmin() { LC_ALL=C.UTF-8 java -Xmx256m "${java_words[@]}" -cp "$hadoop/conf:$jars/*" org.apache.hadoop.hdfs.tools.DFSHAAdmin "$@" 2>>"$hadoop/log/dfs"; }
