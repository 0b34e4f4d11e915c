# What every end-to-end test sources: a directory of its own, TAP, and checks.
#
#   WEFT            the command under test (default build/weft)
#   WEFT_LONG=1     also run what takes minutes
#   WEFT_E2E_TMP    where test directories are made (default: the first that is not a tmpfs)
#
# A test stands in its own empty directory, which goes away with it. `weft` below runs the command
# inside a corral (tools/corral.c), so that any process it leaves behind is found; TMPDIR, HOME and
# the cache are inside the test's directory, so that any file it leaves behind is found too.
# shellcheck shell=bash

set -u
export LC_ALL=C
unset CDPATH GREP_COLORS NO_COLOR WEFT_E2E_TAG

e2e=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$e2e/../.." && pwd)
WEFT=${WEFT:-$root/build/weft}
case $WEFT in /*) ;; *) WEFT=$PWD/$WEFT ;; esac
export WEFT

# The job may spill only to a real disk, and so may its test.
is_memory_disk() { case $(stat -f -c %T "$1" 2>/dev/null) in tmpfs | ramfs) return 0 ;; esac; return 1; }

work_base() {
    local candidate
    for candidate in "${WEFT_E2E_TMP:-}" "${TMPDIR:-}" /var/tmp /tmp "$root/build"; do
        [ -n "$candidate" ] && [ -w "$candidate" ] && ! is_memory_disk "$candidate" &&
            { echo "$candidate"; return; }
    done
    echo "${TMPDIR:-/tmp}"
}

base=$(work_base)
dir=$(mktemp -d "$base/weft-e2e.XXXXXX") || exit 1
chmod 755 "$dir" # another user, nobody, looks in some tests
cleanup() {
    cd /
    chmod -R u+rwX "$dir" 2>/dev/null
    rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# test/e2e/run builds the tools once for all; a test started by hand builds its own.
if [ -z "${E2E_TOOLS:-}" ]; then
    E2E_TOOLS=$dir/.tools
    "$e2e/tools/build" "$E2E_TOOLS" || exit 1
fi
PATH=$E2E_TOOLS:$PATH # oracle, generate, corral, jsonlines

mkdir "$dir/home" "$dir/tmp" "$dir/work"
cd "$dir/work" || exit 1
export HOME=$dir/home TMPDIR=$dir/tmp XDG_CACHE_HOME=$dir/home/.cache XDG_CONFIG_HOME=$dir/home/.config
export XDG_STATE_HOME=$dir/home/.local/state

is_sanitized() { grep -aqE '__(asan|tsan)_init' "$WEFT"; }

# A job that is linked with a sanitized library must be sanitized as well. Its crashes are for weft
# to see, not for the sanitizer.
if is_sanitized; then
    sanitizer=address,undefined
    grep -aq __tsan_init "$WEFT" && sanitizer=thread
    mkdir "$dir/bin"
    printf '#!/bin/sh\nexec %s -fsanitize=%s "$@"\n' "$(command -v clang-14 || command -v clang)" \
        $sanitizer >"$dir/bin/cc"
    chmod +x "$dir/bin/cc"
    export CC=$dir/bin/cc
    quiet=handle_segv=0:handle_abort=0:handle_sigbus=0:handle_sigfpe=0:allocator_may_return_null=1
    quiet=$quiet:log_path=$dir/report # stderr is weft's
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}$quiet
    # By default each process waits a second at its end, for a race in its last moment: longer than the time
    # limits of some tests.
    export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}$quiet:atexit_sleep_ms=50
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:+$UBSAN_OPTIONS:}log_path=$dir/report
fi
left=$dir/left
out=$dir/stdout err=$dir/stderr
: >"$left"

# --- running the command -------------------------------------------------------------------------

weft() { corral -l "$left" -- "$WEFT" "$@"; }

# With no talk: for the many checks that only look at the answer.
answer() { weft run -q "$@"; }

# Stores stdout, stderr and the exit code of a command in $out, $err and $code.
try() {
    "$@" >"$out" 2>"$err"
    code=$?
}

# compile NAME: builds jobs/NAME.c into ./NAME, a program of its own that calls weft_main, with the
# library beside the command. The tests of misbehaving jobs start such programs by `weft run ./NAME`.
compile() {
    local library
    library=$(dirname "$WEFT")
    "${CC:-cc}" -O1 -g -I"$root/include" "$e2e/jobs/$1.c" -o "$1" -L"$library" -lweft \
        -Wl,-rpath,"$library" 2>"$dir/compile" || { note <"$dir/compile" && return 1; }
}

# kill_when CONDITION COMMAND...: kill -9 as soon as it is so.
kill_when() {
    local condition=$1 pid
    shift
    "$@" &
    pid=$!
    until eval "$condition" || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
}

# has_done UNFINISHED [NAME]: whether the journal in that directory tells of something done (in a file of
# that name), beyond its header and its first record.
has_done() {
    local file=$1/.weft-journal/journal-000001 first
    if [ $# = 2 ]; then
        grep -aqs "$2" "$file"
        return
    fi
    first=$(od -An -tu4 -j64 -N4 "$file" 2>/dev/null) # bytes of the first record
    [ -n "$first" ] && [ "$(stat -c %s "$file" 2>/dev/null || echo 0)" -gt $((64 + 20 + first)) ]
}

# serve: a host of queues on a port of its own; in $host, its port in $used, for all commands by WEFT_AT.
serve() {
    "$WEFT" host --listen localhost:0 --port-file port >host.out 2>host.err &
    host=$!
    trap 'kill $host 2>/dev/null; cleanup' EXIT
    until [ -e port ] || ! kill -0 $host; do sleep 0.02; done
    used=$(cat port)
    export WEFT_AT=localhost:$used
}

# until_state QUEUE PATTERN: waits until the state of a queue is like that, not for ever.
state() { weft queue size --json "$1"; }
until_state() {
    local i
    for ((i = 0; i < 200; i++)); do state "$1" 2>/dev/null | grep -q "$2" && return; sleep 0.05; done
    state "$1" 2>&1 | note
    false
}

# free_ports COUNT: ports that nobody listens on, none of those that outgoing connections get: nobody takes
# one between here and its member.
free_ports() { (cd "$e2e/tools" && python3 -B -c 'import members, sys; print(*members.free_ports(int(sys.argv[1])))' "$1"); }

is_root() { [ "$(id -u)" = 0 ]; }
is_long() { [ "${WEFT_LONG:-0}" = 1 ]; }

# Runs a command as an ordinary user, also when the test is root's.
as_nobody() {
    if is_root; then
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    else
        "$@"
    fi
}

can_be_nobody() {
    ! is_root || as_nobody test -x "$WEFT" -a -x "$dir" 2>/dev/null
}

# --- TAP -----------------------------------------------------------------------------------------

count=0 bad=0

ok() { count=$((count + 1)) && echo "ok $count - $1"; }
not_ok() {
    count=$((count + 1)) bad=$((bad + 1))
    echo "not ok $count - $1"
}
note() { sed 's/^/# /' | cut -c1-300 | head -n "${1:-12}"; }
skip() { ok "$1 # SKIP $2"; }

# is ACTUAL EXPECTED: for `check`.
is() { [ "$1" = "$2" ] || { echo "'$1' is not '$2'" && false; }; }

# check SENTENCE COMMAND...: the command succeeds.
check() {
    local sentence=$1 status
    shift
    "$@" >"$dir/check" 2>&1
    status=$?
    if [ $status = 0 ]; then
        ok "$sentence"
    else
        not_ok "$sentence"
        { echo "exit $status from: $*" && cat "$dir/check"; } | note
    fi
}

# check_not SENTENCE COMMAND...: the command fails.
check_not() {
    local sentence=$1
    shift
    if "$@" >"$dir/check" 2>&1; then
        not_ok "$sentence"
        { echo "unexpected success of: $*" && cat "$dir/check"; } | note 40
    else
        ok "$sentence"
    fi
}

# same SENTENCE EXPECTED ACTUAL: two files hold the same bytes.
same() {
    if cmp -s "$2" "$3"; then
        ok "$1"
    else
        not_ok "$1"
        { cmp "$2" "$3" 2>&1 && diff -a "$2" "$3"; diff -a "$2" "$3" | cat -v | head -n 8; } | note
        [ -s "$err" ] && { echo "stderr:" && head -n 5 "$err"; } | note
    fi
}

# gives SENTENCE EXPECTED COMMAND...: the command succeeds and prints what is in the file EXPECTED.
gives() {
    local sentence=$1 expected=$2
    shift 2
    try "$@"
    if [ "$code" = 0 ] && cmp -s "$expected" "$out"; then
        ok "$sentence"
    else
        not_ok "$sentence"
        {
            echo "exit $code from: $*"
            head -n 5 "$err"
            diff -a "$expected" "$out" | cat -v | head -n 8
        } | note 16
    fi
}

# says SENTENCE PATTERN: what the last `try` wrote to stderr has a line that matches.
says() {
    if grep -aqiE -- "$2" "$err"; then
        ok "$1"
    else
        not_ok "$1"
        { echo "no /$2/ in stderr:" && cat "$err"; } | note
    fi
}

# fails_with SENTENCE CODE PATTERN COMMAND...: the exit code is CODE (or one of `1|5`), stderr has
# a line that matches, and stdout is empty.
fails_with() {
    local sentence=$1 codes=$2 pattern=$3
    shift 3
    try "$@"
    if [[ "|$codes|" == *"|$code|"* ]] && grep -aqiE -- "$pattern" "$err" && [ ! -s "$out" ]; then
        ok "$sentence"
    else
        not_ok "$sentence"
        {
            echo "exit $code, expected $codes, from: $*"
            [ -s "$out" ] && echo "stdout is not empty"
            echo "expected /$pattern/ in stderr:"
            cat "$err"
        } | note 16
    fi
}

# nothing_left SENTENCE: no process of any run so far, and no file in the temporary directory.
nothing_left() {
    local files
    files=$(find "$dir/tmp" -mindepth 1 ! -name 'tsan.rodata.*' 2>/dev/null | head -n 5)  # TSan's own
    if [ ! -s "$left" ] && [ -z "$files" ]; then
        ok "$1"
    else
        not_ok "$1"
        { cat "$left" && echo "$files"; } | note
        : >"$left"
        find "$dir/tmp" -mindepth 1 -delete 2>/dev/null
    fi
}

# Prints the beginning of a file; fails when it is empty.
cat_first() { [ -s "$1" ] && grep -v '^$' "$1" | head -n 40; }

finish() {
    nothing_left "no process and no temporary file is left over"
    if is_sanitized; then
        cat "$dir"/report* >"$dir/reports" 2>/dev/null
        check_not "the sanitizer has nothing to say" cat_first "$dir/reports"
    fi
    echo "1..$count"
    [ "$bad" = 0 ]
    exit $?
}
