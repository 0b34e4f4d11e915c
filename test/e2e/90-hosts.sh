#!/bin/bash
# The machines of the tests of launchers: test/hosts itself. A test that cuts a link proves nothing if the link is not cut.
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "hosts reached by ssh" slurm

# greeting SECONDS HOST: opens a connection and reads what sshd says first.
greeting() { echo "timeout -k 1 $1 bash -c 'exec 3<>/dev/tcp/$2/22 && read -r line <&3'"; }
reaches() { bash -c "$(greeting 20 "$1")"; }
reaches_from() { hosts exec "$1" bash -c "$(greeting 20 "$2")"; }
misses() { ! bash -c "$(greeting 1 "$1")"; }
misses_from() { ! hosts exec "$1" bash -c "$(greeting 1 "$2")"; }

fresh_hosts 3
check "each host has its own name" is "$(on h2 hostname)" h2
on h1 'echo mine >/tmp/file; sleep 1000 >/dev/null 2>&1 & echo $! >/tmp/process'
check_not "a host does not see the files of another" on h2 test -e /tmp/file
check_not "nor those of this machine" on h2 test -e "$root/README.md"
check_not "nor its processes" on h2 'grep -lz "^sleep$" /proc/[0-9]*/cmdline'
check "which that one sees itself" on h1 'grep -lz "^sleep$" /proc/[0-9]*/cmdline'
check "what is left on a host is found" grep -q 'process sleep' <(left_on h1)
check "it is a file, too" grep -qx /tmp/file <(left_on h1)
check "and nothing else" is "$(left_on h1 | wc -l)" 3
check "a host may change its own /usr" on h1 'echo changed >/usr/share/changed'
check_not "and this machine keeps what it has" test -e /usr/share/changed

hosts cut h1
check "a host that is cut off is not reached" misses h1
check "and reaches no other" misses_from h1 h2
check "it is reached without the link" is "$(hosts exec h1 cat /tmp/file)" mine
hosts heal h1
check "until it is healed" reaches h1

hosts cut h1 h2
check "one way: no answer comes" misses_from h2 h1
check "other hosts are not concerned" reaches_from h3 h1
hosts heal h1
check "healed in one direction" reaches_from h2 h1
hosts cut here h3
check "from here to a host" misses h3
hosts heal
check "all healed" reaches h3
hosts cut h3 here
check "from a host to here" misses h3
hosts heal

hosts freeze h2
check_not "a frozen host does nothing" timeout -k 1 2 ssh -n -F "$WEFT_HOSTS/config" h2 true
hosts thaw h2
check "until it is thawed" on h2 true

hosts full-disk h2
check_not "a full disk takes no byte" on h2 'echo one >/tmp/one'
hosts free-disk h2
check "until it has room again" on h2 'echo one >/tmp/one'

hosts kill h1
check "a host without power is not reached" misses h1
hosts start h1
check "it boots again" is "$(on h1 hostname)" h1
check "with its files" is "$(on h1 cat /tmp/file)" mine
check_not "and without its processes" on h1 "kill -0 \$(cat /tmp/process)"

hosts slurm up
srun_in_tmp() { (cd /tmp && env -u TMPDIR srun "$@"); } # the directories of this test are not there
check "Slurm runs programs on all hosts" is "$(srun_in_tmp -N3 hostname | sort | tr '\n' ' ')" "h1 h2 h3 "
check "the last one has the feature gpu" is "$(srun_in_tmp -C gpu hostname)" h3
hosts slurm down
check "nothing of it is left" is "$(left_on h3)" ""

# A world in this world: the one inside is killed.
start_world() {
    env -u WEFT_HOSTS -u WEFT_E2E_TMP TMPDIR="$dir/tmp" "$root/test/hosts/hosts" world bash -c \
        "\"$root/test/hosts/hosts\" up 2 && echo \"\$WEFT_HOSTS\" >\"$PWD/inner\" && sleep 1000" &
    until [ -s inner ] || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
    inner=$(cat inner)
}
uses_inner() { grep -lzs "^WEFT_HOSTS=$inner" /proc/[0-9]*/environ; }
start_world
check "a world has processes" uses_inner
check "and files" test -d "$inner/disk/h2/root"
disown $! # the shell would report how it ended
kill -9 $!
tries=1000
until { [ ! -e "$inner" ] && ! uses_inner; } || [ $((tries -= 1)) = 0 ]; do sleep 0.02; done
check_not "kill -9 leaves no files" test -e "$inner"
check_not "and no processes" uses_inner
finish
