#!/bin/bash
# Places and limits that a newcomer's machine may lack: what is said names the place, once, and what to do next.
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG XDG_CONFIG_HOME XDG_CACHE_HOME XDG_STATE_HOME

printf 'a b\n' >in.txt
cp "$root/examples/wordcount.c" .
last_line_helps() { tail -n 1 "$err" | grep -q 'try: ' || { cat "$err" && false; }; }
# explains SENTENCE CODE PATTERN COMMAND...: fails_with, and the last line says what to try.
explains() {
    fails_with "$@"
    check "  and what to do: $1" last_line_helps
}

# --- homes -------------------------------------------------------------------------------------------------
explains "HOME=/proc: no place for a token" 4 'cannot make the directory /proc/.config' env HOME=/proc "$WEFT" host
check "it is said once" [ "$(grep -o 'no place' "$err" | wc -l)" = 1 ]
explains "HOME=/proc: no place for built jobs" 4 'cannot keep built jobs in /proc' env HOME=/proc "$WEFT" run wordcount.c in.txt
explains "HOME=/proc: no place for clusters" 4 '/proc/.local/state' env HOME=/proc "$WEFT" cluster up --role a=1 true
if can_be_nobody; then
    mkdir "$dir/kept" && chmod 555 "$dir/kept"
    there() { as_nobody env HOME="$dir/kept" "$@"; }
    explains "HOME not writable: no place for a token" 5 "directory $dir/kept/.config: permission" there "$WEFT" host
    explains "HOME not writable: no place for built jobs" 5 "$dir/kept/.cache" there "$WEFT" run wordcount.c in.txt
    explains "a --tmp that is not writable" 5 "$dir/kept: permission" there "$WEFT" run --tmp "$dir/kept" sort in.txt
else
    skip "HOME not writable" "cannot be another user here"
fi

# --- --tmp, addresses, TF_CONFIG ---------------------------------------------------------------------------
explains "a --tmp that is not there" 4 '/nosuch' weft run --tmp /nosuch sort in.txt
explains "a --tmp that is a file" '2|4' 'in.txt: not a directory' weft run --tmp in.txt sort in.txt
explains "a --tmp where no file can be made" 4 '/proc' weft run --tmp /proc sort in.txt
explains "a port that is none" 2 'localhost:99999.*99999 is not a port' weft queue size --at localhost:99999 jobs
explains "an address that ends behind its colon" 2 'no port after its colon' weft queue size --at localhost: jobs
explains "TF_CONFIG that is no JSON" 2 'TF_CONFIG: it is not JSON: line 1' \
    env TF_CONFIG='{"cluster": {' "$WEFT" queue size /a/0/b
printf '{"a": [' >bad.json
explains "a cluster file that is no JSON" 2 'bad.json: it is not JSON' weft cluster config bad.json

# --- descriptors -------------------------------------------------------------------------------------------
few() { (ulimit -n "$1" && shift && exec "$WEFT" "$@"); }
is_sanitized || for n in 5 8 16; do
    explains "$n descriptors: run" 5 'files' few $n run wordcount in.txt
    explains "$n descriptors: host" 5 'files' few $n host --listen localhost:0
    explains "$n descriptors: cluster run" 5 'files' few $n cluster run --role a=3 true
done
soft() { (ulimit -S -n 16 && exec "$WEFT" run -q wordcount in.txt); }
printf 'a\t1\nb\t1\n' >expected
gives "16 descriptors that may be raised are no obstacle" expected soft
finish
