#!/bin/bash
# weft cluster run --on ssh://: members on other machines, from their start to the last process and file that is left.
# takes long
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "members on ssh hosts"

run() { weft cluster run --on ssh://h1,h2,h3 "$@"; }
until_so() {
    local i
    for ((i = 0; i < 1000; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.02
    done
    return 1
}

fresh_hosts 3

# --- the same as here -----------------------------------------------------------------------------

try run --role files=1 --role map=3 sh -c 'echo "this is $WEFT_ROLE $WEFT_INDEX on $(hostname)"; echo aside >&2; printf end'
sort "$out" >sorted
cat >expected <<'END'
files/0| end
files/0| this is files 0 on h1
map/0  | end
map/0  | this is map 0 on h2
map/1  | end
map/1  | this is map 1 on h3
map/2  | end
map/2  | this is map 2 on h1
END
same "members are spread over the hosts, in order" expected sorted
printf 'files/0| aside\nmap/0  | aside\nmap/1  | aside\nmap/2  | aside\n' >expected
sort "$err" >sorted
same "standard error stays standard error" expected sorted
check "and all is 0" [ "$code" = 0 ]
nothing_left_on_hosts "no process and no file is left"

cat >server.py <<'END'
import json, os, socket, sys, time
config = json.loads(os.environ["TF_CONFIG"])
role, index = config["task"]["type"], config["task"]["index"]
host, port = config["cluster"][role][index].rsplit(":", 1)
server = socket.socket()
server.bind((host, int(port)))
server.listen()
others = sorted(address for addresses in config["cluster"].values() for address in addresses)
for address in others:
    host, port = address.rsplit(":", 1)
    for attempt in range(400):
        try:
            socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    else:
        sys.exit("nobody at " + address)
for other in others:
    server.accept()
print("met", len(others), os.path.abspath(__file__).startswith(os.getcwd()))
END
try run --file server.py --role files=1 --role map=3 python3 server.py
check "members listen at their addresses and find each other" [ "$code" = 0 ]
check "with a program that was sent" [ "$(sed 's/^.*| //' "$out" | sort | uniq -c | xargs)" = '4 met 4 True' ]

mkdir -p package/below/__pycache__
echo 'print("from a directory")' >package/below/run.py
touch package/__init__.py package/below/__init__.py package/below/__pycache__/old.pyc
echo mine >token
try run --role a=2 --file package --file code=package/below --file token sh -c 'python3 -B -m package.below.run; cat token; find . -type f ! -name ".weft*" | sort'
sort -u "$out" | sed 's/^a\/[01]| //' | sort -u >sorted
printf './code/__init__.py\n./code/run.py\n./package/__init__.py\n./package/below/__init__.py\n./package/below/run.py\n./token\nfrom a directory\nmine\n' | sort >expected
same "directories are sent whole, and no name is taken" expected sorted
rm token

printf '#!/bin/sh\necho "sent to $(hostname)"\n' >own.sh
chmod +x own.sh
try run --role a=3 ./own.sh
check "a program of this directory is sent by itself" [ "$(sed 's/^.*| //' "$out" | sort | xargs)" = 'sent to h1 sent to h2 sent to h3' ]

run --role a=3 sh -c 'yes "$WEFT_INDEX abcdefghijklmnopqrstuvwxyz" | head -c 10000000' 2>"$err" |
    awk '{ n[$1 " " $2 " " $3]++ } END { for (k in n) print k, n[k] }' | sort >"$out"
check "30 MB pass, whole" [ "$(grep -cE '^a/([0-2])\| \1 abcdefghijklmnopqrstuvwxyz 34482[789]$' "$out")" = 3 ]

timeout 60 "$WEFT" cluster run --on ssh://h1,h2 --role a=2 yes 2>"$err" | head -n 1 >/dev/null
check "when nobody reads any more, all end" [ "${PIPESTATUS[0]}" = 141 ]
run --role a=2 sh -c 'yes "$WEFT_INDEX abcdefghijklmnopqrstuvwxyz" | head -n 150000; echo last' 2>"$err" | (sleep 2; cat) >"$out"
printf '150000 a/0| 0 abcdefghijklmnopqrstuvwxyz\n150000 a/1| 1 abcdefghijklmnopqrstuvwxyz\n1 a/0| last\n1 a/1| last\n' | sort >expected
sort "$out" | uniq -c | sed 's/^ *//' | sort >counted
same "members wait for a slow reader, and lose nothing" expected counted
fails_with "--stdin" 2 'cannot read the standard input of this one' run --stdin a/0 --role a=1 cat
cat >flaky.sh <<'END'
#!/bin/sh
echo >>tries
if [ $(wc -l <tries) -lt 3 ]; then
    echo "kex_exchange_identification: Connection closed by remote host" >&2
    exit 255
fi
exec $WEFT_SSH "$@"
END
chmod +x flaky.sh
try weft cluster run --ssh ./flaky.sh --on ssh://h1 --role a=1 echo here
check "a connection that is closed at the beginning is tried again" [ "$code/$(cat "$out")/$(wc -l <tries)" = '0/a/0| here/3' ]

on h1 'rm -r ~/.cache/weft'
for i in 1 2 3 4 5 6; do weft cluster run --on ssh://h1 --role a=1 sh -c 'test -x "$WEFT_PROGRAM" && echo "there"' >"there$i" 2>&1 & done
wait
check "six runs that copy it at once" [ "$(cat there? | sort | uniq -c | xargs)" = '6 a/0| there' ]
on h1 'for f in ~/.cache/weft/bin/weft-*; do : >$f; done'
try weft cluster run --on ssh://h1 --role a=1 echo here
check "a copy of the program that has lost its content is made again" [ "$code/$(cat "$out")" = '0/a/0| here' ]

secret=only-here try run --role a=1 env
check_not "the environment of this machine does not travel" grep -q 'secret=' "$out"
check "that of the host is there" grep -q '| HOME=/root' "$out"

# --- secrets ------------------------------------------------------------------------------------------

token=0123456789abcdef0123456789abcdef
WEFT_TOKEN=$token "$WEFT" cluster run --on ssh://h1 --role a=1 sh -c 'cat "$WEFT_TOKEN_FILE"; ls -l "$WEFT_TOKEN_FILE" | cut -c 1-10
    cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n" | grep -c -f "$WEFT_TOKEN_FILE"' >"$out" 2>"$err"
printf 'a/0| %s\na/0| -rw-------\na/0| 0\n' $token >expected
same "the token is in a file for the user alone, in no argument and no environment" expected "$out"

# --- failures -----------------------------------------------------------------------------------------

try run --role a=3 sh -c 'test $WEFT_INDEX = 1 && exit 7; sleep 100'
check "a member that fails ends the others" [ "$code" = 7 ]
says "and that is reported" 'a/1 exited with code 7'
try run --role a=2 sh -c 'test $WEFT_INDEX = 1 && kill -SEGV $$; sleep 100'
check "a signal is 128 + its number" [ "$code" = 139 ]
try run --role a=1 --restart 2 sh -c 'echo >>"$WEFT_JOURNAL/starts"; test $(wc -l <"$WEFT_JOURNAL/starts") = 3'
check "a member is started again, beside its journal" [ "$code" = 0 ]
fails_with "a program that is not there" 4 'h1: cannot start nosuch: there is no such program' run --role a=1 nosuch
fails_with "a directory that is not there" 4 'in the directory /nowhere' run --role a=1 --cd /nowhere true
fails_with "a file that is not here" 4 'nosuch.py' run --file nosuch.py --role a=1 true
mkdir below; cp own.sh above.sh; cd below || exit
fails_with "a program that is not below this directory" 2 'is not below this directory' run --role a=1 ../above.sh
cd .. || exit
try run --role a=1 --role b=1 sh -c 'if [ $WEFT_ROLE = a ]; then echo cause; echo effect >&2; sleep 1; exit 3; fi; trap "" TERM; for i in $(seq 2000); do echo "$i of many lines"; sleep 0.001; done'
check "the last lines of a member that fails are repeated" [ "$code/$(tail -n 2 "$err" | xargs)" = '3/cause effect' ]
hosts cut h3
fails_with "a member that is missing at the deadline" 6 '3 of 3 members have not started' run --start-deadline 2s --role a=3 true
says "with the reason" 'a/2: h3 does not answer'
hosts heal
fails_with "a host that there is not" 4 'cannot start members on nowhere.invalid: .*resolve' weft cluster run --on ssh://h1,nowhere.invalid --role a=2 true
fails_with "a typo" 2 'did you mean: ssh:' weft cluster run --on shh://h1 --role a=1 true
fails_with "a typo with --dry-run" 2 'did you mean: ssh:' weft cluster run --on shh://h1 --dry-run --role a=1 true
fails_with "no host" 2 'no host is named' weft cluster run --on ssh:// --role a=1 true
fails_with "a host that would be an option" 2 'is not a host' weft cluster run --on ssh://-oProxyCommand=x --role a=1 true
echo '{"a": ["127.0.0.1:2222"]}' >fixed.json
fails_with "addresses that are fixed" 2 'addresses are those of its host' run --cluster fixed.json true

try run --timeout 500ms --role a=3 sleep 100
check "--timeout" [ "$code" = 6 ]
nothing_left_on_hosts "after all of that nothing is left"

on h2 'echo "echo noise from .bashrc; echo more >&2" >/root/.bashrc; chsh -s /bin/bash' >/dev/null 2>&1
try run --role a=3 echo quiet
check "what .bashrc prints is skipped" [ "$code/$(sort -u "$out" | wc -l)" = 0/3 ]
on h2 'rm /root/.bashrc'

ssh-keygen -q -t ed25519 -N '' -f other_key
sed "s#IdentityFile .*#IdentityFile $PWD/other_key#" "$WEFT_HOSTS/config" >other_config
fails_with "no key" 5 'cannot start members on h1: .*Permission denied' \
    weft cluster run --ssh "ssh -F other_config" --on ssh://h1 --role a=1 true
: >known_none
fails_with "a host whose key is not known" 5 'Host key verification failed' \
    weft cluster run --ssh "$WEFT_SSH -o StrictHostKeyChecking=yes -o UserKnownHostsFile=$PWD/known_none -o GlobalKnownHostsFile=/dev/null" --on ssh://h1 --role a=1 true
says "with advice" 'try: ssh h1 true'
hosts full-disk h1
fails_with "a full /tmp" 5 'h1.*no space left' weft cluster run --on ssh://h1 --role a=1 true
hosts free-disk h1

# --- ends ---------------------------------------------------------------------------------------------

begin() {
    : >started
    "$WEFT" cluster run --on ssh://h1,h2 --role a=4 sh -c 'setsid sleep 1001 & echo started; sleep 1000' >started 2>"$err" &
    pid=$!
    until_so eval '[ $(grep -c started started) = 4 ]'
}
begin
kill -INT $pid 2>/dev/null
kill -TERM $pid
wait $pid
check "SIGTERM ends it" [ $? = 143 ]
check "and nothing is left on any host then" is_empty_of_weft
begin
kill -9 $pid
wait $pid 2>/dev/null
nothing_left_on_hosts "kill -9: agents end with their launcher"
begin
hosts cut h2
kill -9 $pid
wait $pid 2>/dev/null
is_rid_of_members() { ! left_on "$1" | grep -qv 'process sshd'; }
until_so is_rid_of_members h2
check "also when the link is cut: the agent hears nothing any more" is_rid_of_members h2
hosts heal
finish
