#!/bin/bash
# weft cluster run --archive on ssh hosts: an environment is sent to each host once, unpacked there, and found first.
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "archives on ssh hosts"
fresh_hosts 2

run() { weft cluster run --on ssh://h1,h2 "$@"; }
mkdir tools
printf '#!/bin/sh\necho "a tool on $(hostname), $*"\n' >tools/mytool
chmod +x tools/mytool
head -c 30000000 /dev/urandom >tools/data
weft pack -q tools -o tools.tar.zst >/dev/null

try run --role a=3 --role b=1 --archive a=tools.tar.zst sh -c 'mytool $WEFT_INDEX 2>/dev/null || echo none; test -z "$WEFT_ENVIRONMENT" || cksum <$WEFT_ENVIRONMENT/data'
sort "$out" >sorted
sum=$(cksum <tools/data)
printf "a/0| $sum\na/0| a tool on h1, 0\na/1| $sum\na/1| a tool on h2, 1\na/2| $sum\na/2| a tool on h1, 2\nb/0| none\n" >expected
same "members find the programs and files of their archive" expected sorted
check "and all is 0" [ "$code" = 0 ]

# unpacked HOST: when the environments of a host were made
unpacked() { on "$1" 'cd ~/.cache/weft/environments && stat -c "%n %i %W" */tree'; }
unpacked h1 >first
check "each host keeps it" [ -s first -a "$(wc -l <first)" = 1 ]
on h1 'rm -f /tmp/sent' 2>/dev/null
try run --role a=2 --archive tools.tar.zst mytool again
sort "$out" >sorted
printf 'a/0| a tool on h1, again\na/1| a tool on h2, again\n' >expected
same "another run uses what is there" expected sorted
unpacked h1 >second
same "... and unpacks nothing" first second

try run --role a=1 --env PATH=/bin:/usr/bin --archive tools.tar.zst sh -c 'command -v mytool || echo "$PATH"'
printf 'a/0| /bin:/usr/bin\n' >expected
same "a PATH of the description wins" expected "$out"

echo no archive >broken.tar.zst
try run --role a=1 --archive broken.tar.zst true
check "a file that is no archive is refused by the host" [ "$code" != 0 ]
check "... with its name or reason" grep -q 'archive' "$err"
check "... and nothing of it is kept" [ "$(unpacked h1 | wc -l)" = 1 ]
rm -r tools.tar.zst
try run --role a=1 --archive tools.tar.zst true
check "an archive that is not there" [ "$code" = 4 ]
finish
