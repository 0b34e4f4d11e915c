# For tests across machines, after lib.sh: network namespaces on one bridge stand in for them. Only root can make them.
#
#   names                    of the machines (default: s a b)
#   addresses[NAME]          their addresses
# shellcheck shell=bash disable=SC2034

names="s a b"
declare -A addresses=([s]=10.77.88.1 [a]=10.77.88.2 [b]=10.77.88.3)

can_make_machines() {
    is_root && ip netns add "weft$$" 2>/dev/null && ip netns del "weft$$"
}

in_ns() { ip netns exec "weft$$$1" "${@:2}"; }

make_machines() {
    local name
    ip netns add "weft$$sw"
    ip -n "weft$$sw" link add br0 type bridge
    ip -n "weft$$sw" link set br0 up
    for name in $names; do
        ip netns add "weft$$$name"
        ip -n "weft$$$name" link set lo up
        ip link add eth0 netns "weft$$$name" type veth peer name "port$name" netns "weft$$sw"
        ip -n "weft$$sw" link set "port$name" master br0 up
        ip -n "weft$$$name" addr add "${addresses[$name]}/24" dev eth0
        ip -n "weft$$$name" link set eth0 up
    done
}

drop_machines() {
    local name
    for name in $names sw; do
        ip netns del "weft$$$name" 2>/dev/null
    done
}
trap 'drop_machines; cleanup' EXIT

# link NAME up|down: the cable of a machine; packets vanish while it is down.
link() { ip -n "weft$$sw" link set "port$1" "$2"; }

# cannot_reach FROM TO: packets of FROM to TO vanish, until can_reach FROM TO.
cannot_reach() { ip -n "weft$$$1" route add blackhole "${addresses[$2]}/32"; }
can_reach() { ip -n "weft$$$1" route del blackhole "${addresses[$2]}/32"; }
