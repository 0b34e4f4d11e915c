# What the tests with a real Hadoop source: its daemons, on loopback, below $hadoop (a directory).
#
#   hadoop_or_skip WHAT    first of all: has the jars and an empty $hadoop, or ends the test as skipped, saying why
#   hadoop_jars            fetches the jars by Maven once, into build/hadoop (HADOOP_VERSION, default 3.4.1), in at most
#                          HADOOP_FETCH_SECONDS (900)
#   hadoop_configure       writes the configuration; HADOOP_CONF_DIR is its directory
#   hadoop_configure_pair  the same for two name nodes, hdfs://pair; and one data node
#   hadoop_configure_yarn  after hadoop_configure: a resource manager and two node managers, yarn://$yarn_at
#   hadoop_start NAME...   namenode, namenode1, namenode2, datanode1, datanode2, resourcemanager, nodemanager1, nodemanager2
#   hadoop_kill NAME...    by SIGKILL; each can be started again and knows what it knew
#   hadoop_end             ends all of them, and the containers that outlived their node manager
#   haadmin WORD...        Hadoop's own command about which of two name nodes is active
#   hadoop_await COUNT     until the name node has left its safe mode and knows that many data nodes
#   yarn_await COUNT       until the resource manager answers and that many node managers run
#   yarn_label             gives nodemanager2 the label gpu: once, the resource manager keeps it over a restart
#   yarn_rest PATH [WORD...]   what the resource manager's web service answers; the words are curl's
#   yarn_submit QUEUE LABEL COMMAND   an application whose first container runs the command; its id is $application
#   yarn_await_file FILE [SECONDS]    until a command has written something there
#   dfs WORD...            Hadoop's own command;   dfsadmin, yarn, rmadmin WORD...: further ones
#
# nodemanager2 has two of yarn.io/gpu. Besides the queue default there is the queue small, which never has more than a
# quarter of the cluster; containers of default go (preemption) while small waits for its share.
# The ports are the 400 from $HADOOP_PORTS on; without it, of a stretch that nobody uses.
# shellcheck shell=bash disable=SC2154

HADOOP_VERSION=${HADOOP_VERSION:-3.4.1}
hadoop=${hadoop:-} root=${root:?}
jars=$root/build/hadoop/$HADOOP_VERSION
java_words=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.net.preferIPv4Stack=true
    --add-opens=java.base/java.lang=ALL-UNNAMED) # the injection library of YARN's daemons defines classes

hadoop_jars() {
    [ "$jars/.complete" -nt "$root/test/hadoop/pom.xml" ] && return 0
    mkdir -p "$jars"
    timeout "${HADOOP_FETCH_SECONDS:-900}" mvn -B -ntp -q -f "$root/test/hadoop/pom.xml" -Dhadoop="$HADOOP_VERSION" \
        org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
        -DoutputDirectory="$jars" -DincludeScope=runtime && touch "$jars/.complete"
}

# free_stretch: the first port of 400 in a row that are free, below those that outgoing connections get.
free_stretch() {
    python3 -B -c 'import random, socket
def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        return not probe.bind(("127.0.0.1", port))
for first in random.sample(range(18000, 32000, 400), 35):
    try:
        if all(is_free(first + i) for i in range(400)):
            print(first)
            break
    except OSError:
        pass'
}

hadoop_or_skip() {
    local tool reason=
    for tool in java mvn curl python3; do
        command -v $tool >/dev/null || { reason="there is no $tool (tools/packages.sh oracle)"; break; }
    done
    [ -n "$reason" ] || (HOME=$(getent passwd "$(id -u)" | cut -d: -f6) && hadoop_jars) >"$dir/jars" 2>&1 ||
        { note <"$dir/jars"; reason="the jars of Hadoop $HADOOP_VERSION cannot be fetched"; }
    [ -z "$reason" ] || { skip "$1" "$reason"; finish; exit; }
    hadoop=$dir/hadoop
    mkdir "$hadoop"
    trap 'hadoop_end; cleanup' EXIT
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

# configure_data_node NUMBER [NAME]: its own directory and ports, and all of the rest.
configure_data_node() {
    local at=$hadoop/conf-datanode$1 port=$((HADOOP_PORTS + 10 * $1))
    mkdir -p "$at/webapps/datanode"
    cp "$HADOOP_CONF_DIR/core-site.xml" "$HADOOP_CONF_DIR/log4j.properties" "$at"
    properties "${common[@]}" "dfs.datanode.data.dir=file://$hadoop/data$1" "dfs.datanode.address=127.0.0.1:$port" \
        "dfs.datanode.http.address=127.0.0.1:$((port + 1))" "dfs.datanode.ipc.address=127.0.0.1:$((port + 2))" \
        "dfs.datanode.hostname=${2:-127.0.0.1}" >"$at/hdfs-site.xml"
}

log_settings() {
    printf '%s\n' 'log4j.rootLogger=INFO,out' 'log4j.appender.out=org.apache.log4j.ConsoleAppender' \
        'log4j.appender.out.target=System.err' 'log4j.appender.out.layout=org.apache.log4j.PatternLayout' \
        'log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n' >"$HADOOP_CONF_DIR/log4j.properties"
}

hadoop_configure() {
    HADOOP_PORTS=${HADOOP_PORTS:-$(free_stretch)}
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
    (hadoop_java "$HADOOP_CONF_DIR" hdfs.server.namenode.NameNode -format -nonInteractive) >"$hadoop/log/format" 2>&1
}

# Two name nodes with a shared journal in a directory; a person says which one is active (haadmin -transitionToActive nn1).
hadoop_configure_pair() {
    local i at
    HADOOP_PORTS=${HADOOP_PORTS:-$(free_stretch)}
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
    (hadoop_java "$hadoop/conf-namenode1" hdfs.server.namenode.NameNode -format -nonInteractive) >"$hadoop/log/format" 2>&1 || return
    hadoop_start namenode1
    (hadoop_java "$hadoop/conf-namenode2" hdfs.server.namenode.NameNode -bootstrapStandby -nonInteractive) >"$hadoop/log/standby" 2>&1 || return
    hadoop_start namenode2 datanode1
}

# One queue more than the default one, both on the nodes of all labels.
queue_settings() {
    local at=yarn.scheduler.capacity name share most
    local words=("$at.root.queues=default,small" "$at.maximum-am-resource-percent=1.0" "$at.root.accessible-node-labels=*"
        "$at.resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator" "$at.node-locality-delay=-1")
    words+=("$at.root.accessible-node-labels.gpu.capacity=100" "$at.root.accessible-node-labels.gpu.maximum-capacity=100")
    for name in default=75=100 small=25=25; do
        IFS='=' read -r name share most <<<"$name"
        words+=("$at.root.$name.capacity=$share" "$at.root.$name.maximum-capacity=$most" "$at.root.$name.user-limit-factor=10"
            "$at.root.$name.accessible-node-labels=gpu" "$at.root.$name.accessible-node-labels.gpu.capacity=$share"
            "$at.root.$name.accessible-node-labels.gpu.maximum-capacity=$most")
    done
    properties "${words[@]}"
}

# configure_node_manager NUMBER: its own directories and ports, and all of the rest.
configure_node_manager() {
    local at=$hadoop/conf-nodemanager$1 port=$((HADOOP_PORTS + 300 + 10 * $1)) own=$hadoop/nodemanager$1
    mkdir -p "$at"
    cp "$HADOOP_CONF_DIR"/*.xml "$HADOOP_CONF_DIR/log4j.properties" "$at"
    properties "${yarn_common[@]}" "yarn.nodemanager.hostname=127.0.0.1" "yarn.nodemanager.address=127.0.0.1:$port" \
        "yarn.nodemanager.localizer.address=127.0.0.1:$((port + 1))" "yarn.nodemanager.webapp.address=127.0.0.1:$((port + 2))" \
        "yarn.nodemanager.collector-service.address=127.0.0.1:$((port + 3))" "yarn.nodemanager.local-dirs=$own/local" \
        "yarn.nodemanager.log-dirs=$own/log" "yarn.nodemanager.recovery.dir=$own/state" >"$at/yarn-site.xml"
    [ "$1" = 1 ] || properties "yarn.nodemanager.resource-type.yarn.io/gpu=2" >"$at/node-resources.xml"
}

# Node managers beat every 100 ms and are lost after 10 s; all keep their state below $hadoop, so that the containers
# live on when one of them is killed and started again.
hadoop_configure_yarn() {
    local at=yarn.resourcemanager port=$((HADOOP_PORTS + 300))
    yarn_at=127.0.0.1:$port
    yarn_common=("$at.hostname=127.0.0.1" "$at.address=$yarn_at" "$at.scheduler.address=127.0.0.1:$((port + 1))"
        "$at.resource-tracker.address=127.0.0.1:$((port + 2))" "$at.admin.address=127.0.0.1:$((port + 3))"
        "$at.webapp.address=127.0.0.1:$((port + 4))" "$at.nodemanagers.heartbeat-interval-ms=100" "$at.am.max-attempts=2"
        "$at.scheduler.class=$yarn_server.resourcemanager.scheduler.capacity.CapacityScheduler"
        "$at.connect.retry-interval.ms=500" "$at.work-preserving-recovery.scheduling-wait-ms=1000" "$at.recovery.enabled=true"
        "$at.store.class=$yarn_server.resourcemanager.recovery.FileSystemRMStateStore" "$at.fs.state-store.uri=file://$hadoop/applications"
        "$at.scheduler.monitor.enable=true" "$at.monitor.capacity.preemption.monitoring_interval=500"
        "$at.monitor.capacity.preemption.max_wait_before_kill=1000" "$at.monitor.capacity.preemption.total_preemption_per_round=1.0"
        "$at.monitor.capacity.preemption.natural_termination_factor=1.0"
        "yarn.scheduler.minimum-allocation-mb=64" "yarn.scheduler.maximum-allocation-mb=2048"
        "yarn.nm.liveness-monitor.expiry-interval-ms=10000" "yarn.am.liveness-monitor.expiry-interval-ms=20000"
        "yarn.node-labels.enabled=true" "yarn.node-labels.fs-store.root-dir=file://$hadoop/labels" "yarn.acl.enable=false"
        "yarn.nodemanager.container-executor.class=$yarn_server.nodemanager.DefaultContainerExecutor"
        "yarn.nodemanager.resource.memory-mb=4096" "yarn.nodemanager.resource.cpu-vcores=8" "yarn.nodemanager.recovery.enabled=true"
        # A container above its memory is found by looking, which Hadoop does only when "enforced" (by control groups) is off.
        "yarn.nodemanager.user-home-dir=/proc/nowhere" # as for most users: nobody may write there
        "yarn.nodemanager.vmem-check-enabled=false" "yarn.nodemanager.pmem-check-enabled=true"
        "yarn.nodemanager.resource.memory.enforced=false" "yarn.nodemanager.container-monitor.interval-ms=1000"
        "yarn.nodemanager.disk-health-checker.enable=false" "yarn.log-aggregation-enable=true"
        "yarn.nodemanager.remote-app-log-dir=/tmp/logs" "yarn.timeline-service.enabled=false")
    properties "${yarn_common[@]}" >"$HADOOP_CONF_DIR/yarn-site.xml"
    properties "yarn.resource-types=yarn.io/gpu" >"$HADOOP_CONF_DIR/resource-types.xml"
    queue_settings >"$HADOOP_CONF_DIR/capacity-scheduler.xml"
    configure_node_manager 1
    configure_node_manager 2
}
yarn_at='' yarn_server=org.apache.hadoop.yarn.server

hadoop_java() { # CONFIGURATION CLASS WORD...: instead of this shell
    local conf=$1 class=$2
    shift 2
    exec java -Xmx192m "${java_words[@]}" -Dhadoop.log.dir="$hadoop/log" -Dyarn.log.dir="$hadoop/log" -cp "$conf:$jars/*" \
        "org.apache.hadoop.$class" "$@"
}

hadoop_start() {
    local name
    for name; do
        case $name in
        namenode) hadoop_java "$HADOOP_CONF_DIR" hdfs.server.namenode.NameNode >>"$hadoop/log/$name" 2>&1 & ;;
        namenode?) hadoop_java "$hadoop/conf-$name" hdfs.server.namenode.NameNode >>"$hadoop/log/$name" 2>&1 & ;;
        datanode*) hadoop_java "$hadoop/conf-$name" hdfs.server.datanode.DataNode >>"$hadoop/log/$name" 2>&1 & ;;
        resourcemanager) hadoop_java "$HADOOP_CONF_DIR" yarn.server.resourcemanager.ResourceManager >>"$hadoop/log/$name" 2>&1 & ;;
        nodemanager*) hadoop_java "$hadoop/conf-$name" yarn.server.nodemanager.NodeManager >>"$hadoop/log/$name" 2>&1 & ;;
        *) echo "hadoop_start: there is no daemon '$name'" >&2; return 1 ;;
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

hadoop_end() {
    local at
    hadoop_kill "${!daemons[@]}"
    # A container lives on without its node manager. It works in the node manager's directory.
    for at in /proc/[0-9]*; do
        case $(readlink "$at/cwd") in "$hadoop"/nodemanager?/*) kill -9 "${at#/proc/}" 2>/dev/null ;; esac
    done
    return 0
}

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

yarn_rest() { # PATH [WORD...]
    local path=$1
    shift
    curl -s -m 5 "$@" "http://127.0.0.1:$((HADOOP_PORTS + 304))/ws/v1/cluster/$path"
}

yarn_await() { # COUNT: of node managers
    local i
    for ((i = 0; i < 300; i++)); do
        [ "$(yarn_rest 'nodes?states=RUNNING' | grep -o '"state":"RUNNING"' | wc -l)" = "$1" ] && return 0
        sleep 0.2
    done
    yarn_rest nodes | note
    return 1
}

yarn_label() {
    local node user
    user=user.name=$(id -un)
    # The resource manager's own name of the node: it may have replaced the number of the address by a name.
    node=$(yarn_rest nodes | grep -o "\"id\":\"[^\"]*:$((HADOOP_PORTS + 320))\"" | cut -d '"' -f 4)
    yarn_rest "add-node-labels?$user" -f -H 'Content-Type: application/json' -d '{"nodeLabelInfo":[{"name":"gpu","exclusivity":"true"}]}' &&
        yarn_rest "nodes/$node/replace-labels?labels=gpu&$user" -f -X POST && yarn_rest "nodes/$node" | grep -q '"nodeLabels":\["gpu"\]'
}

yarn_submit() {
    local user
    user=user.name=$(id -un)
    application=$(yarn_rest "apps/new-application?$user" -X POST | grep -o 'application_[0-9_]*' | head -n 1)
    yarn_rest "apps?$user" -f -H 'Content-Type: application/json' -d "{\"application-id\": \"$application\",
        \"application-name\": \"test\", \"application-type\": \"shell\", \"queue\": \"$1\", \"app-node-label-expression\": \"$2\",
        \"am-container-spec\": {\"commands\": {\"command\": \"$3\"}}, \"max-app-attempts\": 1,
        \"resource\": {\"memory\": 64, \"vCores\": 1}}"
}

yarn_await_file() { # FILE [SECONDS]
    local i
    for ((i = 0; i < ${2:-30} * 10; i++)); do
        [ -s "$1" ] && return
        sleep 0.1
    done
    yarn_rest "apps/$application"
    return 1
}

# hadoop_client CLASS WORD...: a command of Hadoop's own.
hadoop_client() {
    local class=$1
    shift
    LC_ALL=C.UTF-8 java -Xmx256m "${java_words[@]}" -cp "$HADOOP_CONF_DIR:$jars/*" "org.apache.hadoop.$class" "$@" 2>>"$hadoop/log/client"
}
dfs() { hadoop_client fs.FsShell "$@"; }
dfsadmin() { hadoop_client hdfs.tools.DFSAdmin "$@"; }
haadmin() { hadoop_client hdfs.tools.DFSHAAdmin "$@"; }
yarn() { hadoop_client yarn.client.cli.ApplicationCLI "$@"; }
rmadmin() { hadoop_client yarn.client.cli.RMAdminCLI "$@"; }
