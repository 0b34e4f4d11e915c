#!/bin/bash
# The static command, alone: in a place without any other file of the system but /proc and /dev/null.
. "$(dirname "$0")/lib.sh"

lean=$(dirname "$WEFT")/weft-lean
if [ ! -x "$lean" ]; then
    skip "the static command" "this build has none"
    finish
    exit
fi
if ! unshare -rm true 2>/dev/null; then
    skip "the static command, alone" "no namespaces here"
    finish
    exit
fi

mkdir -p alone/proc alone/dev alone/etc bare
cp "$lean" alone/weft-lean
cp "$lean" bare/weft-lean
cp "$root/examples/texts/06-poem.txt" alone/poem
cp "$root/examples/texts/06-poem.txt" bare/poem
touch alone/dev/null
echo '127.0.0.1 here.example' >alone/etc/hosts
echo 'hosts: mymachines resolve sss' >alone/etc/nsswitch.conf
cat >inside <<'END'
mount --bind /dev/null alone/dev/null && mount --rbind /proc alone/proc && exec chroot alone /weft-lean "$@"
END
alone() { unshare -rm sh inside "$@"; }
bare() { unshare -rm chroot bare /weft-lean "$@"; }

weft version >expected
gives "it says its version where there is no other file" expected bare version
weft run -q wordcount alone/poem >expected
gives "it runs a job" expected alone run -q --tmp / wordcount /poem
gives "with several processes" expected alone run -q --tmp / --workers 2 wordcount /poem
fails_with "without /dev it says what is missing" "1|2|3|5" 'no /dev/null here' bare run --tmp / wordcount /poem

# A server and its client, which knows it by name. A client runs the program of its server: here it has that already.
. "$e2e/machines.sh"
WEFT=$lean open_server -q -o counted wordcount alone/poem
XDG_CACHE_HOME=/cache alone client -q -n 1 --memory 200M --tmp / "here.example:${at##*:}" >client.log 2>&1
check "it is the client of a server that it knows by name" is $? 0
all_end
check "which ends well" is "$code" 0
same "with the same bytes" expected counted
WEFT_TOKEN=0123456789abcdef0123456789abcdef try alone client --memory 200M --tmp / nowhere.invalid:9
says "a name that is unknown is named" 'nowhere.invalid cannot be resolved'
finish
