#!/bin/bash
# weft doctor: what is well, what is not, what to do, and the exit code.
# also: asan
. "$(dirname "$0")/lib.sh"

try weft doctor
check "all is well here" [ "$code" = 0 ]
cut -c1-18 "$out" >checks
printf 'ok      version   \nok      machine   \nok      state     \nok      cache     \nok      tmp       \nok      token     \nok      member    \n' >expected
same "there is a line for each check" expected checks
try weft doctor -q
check "nothing to report is no output" [ "$code" = 0 -a ! -s "$out" ]
try weft doctor --json
check "each line is an object" python3 -c 'import json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
assert [row["result"] for row in rows] == ["ok"] * 7, rows
assert rows[-1]["check"] == "member", rows' "$out"

fails() { # SENTENCE CODE CHECK TEXT ADVICE COMMAND...
    local sentence=$1 wanted=$2 name=$3 text=$4 advice=$5
    shift 5
    try "$@"
    check "$sentence" [ "$code" = "$wanted" ]
    check "... and said so" grep -q "^failed  $name .*$text" "$out"
    check "... with what to do" grep -q "^ *try: .*$advice" "$out"
}
fails "a directory for temporary files that is not there" 4 tmp 'no such file' 'export TMPDIR=' env TMPDIR=/nosuch "$WEFT" doctor -q
echo file >file
fails "a state that cannot be" 4 state "file" 'export XDG_STATE_HOME=' env XDG_STATE_HOME="$PWD/file" "$WEFT" doctor -q
mkdir -p config/weft
echo 0123456789abcdef0123456789abcdef >config/weft/token
chmod 644 config/weft/token
fails "a token that others can read" 5 token 'token' 'chmod' env XDG_CONFIG_HOME="$PWD/config" "$WEFT" doctor -q
# No host gets as far as running it. Sanitized builds have no weft-lean.
[ -x "$(dirname "$WEFT")/weft-lean" ] || export WEFT_AGENT=$WEFT
fails "hosts that are not reached" 3 h1 'cannot start members on h1' 'ssh h1 true' "$WEFT" doctor -q --on ssh://h1,h2 --ssh false
check "one does not hide the other" grep -q '^failed  h2 ' "$out"
cat >slow <<'END'
#!/bin/sh
exec sleep 1000
END
chmod +x slow
fails "a host that does not answer" 6 h1 'no answer in time' 'longer time' "$WEFT" doctor -q --on ssh://h1 --ssh ./slow --timeout 1s
try weft doctor --on slrm:x
check "a URL that is none" [ "$code" = 2 ]
try weft doctor ssh://h1
check "a word too many" [ "$code" = 2 ]
check "... with the option that is meant" grep -q 'try: weft doctor --on ssh://h1' "$err"
nothing_left "no process and no file is left"
finish
