# For tests on several machines, after lib.sh: hosts made of namespaces, and Slurm on them (test/hosts).
#
#   in_world WHAT [slurm]   continues the test in a world of its own; where there can be none, says that WHAT is skipped and ends
#   fresh_hosts [N]         h1 to hN (3), just booted; `hosts VERB...` does the rest: hosts help
#   fresh_slurm [N]         the same, and Slurm on them
#
# WEFT_SSH is set: weft reaches the hosts by it; `on HOST COMMAND...` does so by ssh.
# shellcheck shell=bash disable=SC2034,SC2154

hosts() { "$root/test/hosts/hosts" "$@"; }
on() { ssh -n -F "$WEFT_HOSTS/config" "$@"; }

in_world() {
    local missing
    [ -z "${WEFT_HOSTS:-}" ] || return 0
    if ! missing=$(hosts can "${@:2}"); then
        skip "$1" "$missing"
        finish
    fi
    cleanup
    trap - EXIT
    case $E2E_TOOLS in "$dir"/*) unset E2E_TOOLS ;; esac
    cd "$root" || exit 1
    TMPDIR=$base exec "$root/test/hosts/hosts" world bash "$e2e/$(basename "$0")"
}
[ -z "${WEFT_HOSTS:-}" ] || export WEFT_SSH="ssh -F $WEFT_HOSTS/config"

fresh_hosts() {
    hosts slurm down
    hosts down
    hosts up "${1:-3}" || exit 1
}
fresh_slurm() {
    fresh_hosts "${1:-2}"
    hosts slurm up || exit 1
}

# left_on HOST: prints the processes and temporary files of a host that it did not have after its start.
left_on() {
    # shellcheck disable=SC2016 # the host's shell
    hosts exec "$1" sh -c '
        for process in /proc/[0-9]*; do
            name=$(cat $process/comm 2>/dev/null) || continue
            case ${process#/proc/}:$name in
            1:sshd | $$:* | *:munged | *:slurmd) ;;
            *) echo "process $name: $(tr "\0" " " <$process/cmdline)" ;;
            esac
        done
        find /tmp /var/tmp /dev/shm -mindepth 1 ! -name "slurm*"' 2>/dev/null | grep -v '^process \(find\|tr\|cat\|sh\):' || true
}
running_hosts() { (cd "$WEFT_HOSTS/disk" && for host in h*; do [ -d "$host" ] && kill -0 "$(cat "$host/process")" 2>/dev/null && echo "$host"; done); }
is_empty_of_weft() {
    local host
    for host in $(running_hosts); do [ -z "$(left_on "$host")" ] || return 1; done
}

# nothing_left_on_hosts SENTENCE: no process and no temporary file on any host that runs, ten seconds from now at the latest.
nothing_left_on_hosts() {
    local host tries=100
    until is_empty_of_weft || [ $((tries -= 1)) = 0 ]; do sleep 0.1; done
    if is_empty_of_weft; then
        ok "$1"
    else
        not_ok "$1"
        for host in $(running_hosts); do left_on "$host" | sed "s/^/$host: /"; done | note
    fi
}
