#!/bin/bash
# weft replay ID: one record again, alone, in a process of its own.
. "$(dirname "$0")/lib.sh"

compile mines && compile mines_block || exit 1
python=$(python3 -c 'import sys; print(sys.executable)')
for how in segv abort exit fail loud; do
    { seq 3000 && echo "boom $how" && seq 3001 5000; } >"in.$how"
done

# fail WORD...: runs that job and leaves the ID that it names in $id.
fail() {
    try weft run -q "$@"
    id=$(sed -n 's/.*weft replay \([0-9a-f]\{8\}\) .*/\1/p' "$err")
}

declare -A expected=([segv]=139 [abort]=134 [exit]=7 [fail]=1 [loud]=139)
for job in mines mines_block; do
    for how in segv abort exit fail loud; do
        fail ./$job "in.$how"
        try weft replay "$id"
        check "$job, $how: it fails as it did" [ "$code" = "${expected[$how]}" ]
        check "and prints nothing" [ ! -s "$out" ]
        case $how in
        fail) says "it says what it said" 'it said fail, at in.fail near offset 13893' ;;
        loud) says "it says what it said" 'last word on stderr' ;;
        esac
    done
done

fail ./mines -f here in.segv
: >here
printf 'boom segv\t1\n' >harmless
gives "a record that does no harm any more: what it emits is printed" harmless weft replay "$id"
says "and that it did none" 'did not fail'
mkdir elsewhere
cd elsewhere || exit 1
gives "from another directory too" ../harmless weft replay "$id"
cd .. || exit 1
fail ./mines_block -f there in.segv && : >there
gives "of blocks just that record as well" harmless weft replay "$id"

# ---- commands, compressed inputs, formats ---------------------------------------------------------------

cat >strict.py <<'END'
import os, sys
for line in sys.stdin:
    if line.startswith("boom") and not os.path.exists("tolerant"):
        sys.stderr.write("no idea what to do with this\n")
        sys.exit(3)
    sys.stdout.write(line.rstrip("\n") + "\t1\n")
END
fail --map "$python strict.py" in.segv
fails_with "a command fails as it did" 1 'code 3' weft replay "$id"
says "with its standard error" 'no idea what to do'
: >tolerant
gives "or prints what it makes of the record" harmless weft replay "$id"
gzip -k in.segv && rm -f here
fail ./mines -f here in.segv.gz
try weft replay "$id"
check "a record of a compressed file crashes again" [ "$code" = 139 ]
: >here
gives "and is the right one" harmless weft replay "$id"
printf '1,"a\nb"\nboom fail,"c\nd"\n2,e\n' >rows.csv && rm here
fail --format csv ./mines -f here rows.csv
: >here
printf 'boom fail,"c\nd"\t1\n' >expected
gives "a csv row is a whole row" expected weft replay "$id"
rm here && mkdir 'a b' && cp in.segv $'a b/-x \xff'
fail ./mines -f here -- $'a b/-x \xff'
: >here
gives "any file name can be replayed" harmless weft replay "$id"
rm here && cp "$e2e/jobs/mines.c" .
fail mines.c -f here in.segv
: >here
gives "a C source as well" harmless weft replay "$id"

# ---- a debugger -----------------------------------------------------------------------------------------

mkdir fake && cat >fake/gdb <<'END'
#!/bin/sh
{ for word; do echo "$word"; done; env | grep ^WEFT_REPLAY; } >gdb.called
END
chmod +x fake/gdb
rm -f here
fail ./mines -f here in.segv
PATH=$PWD/fake:$PATH try weft replay --debug "$id"
check "--debug starts gdb" [ -s gdb.called ]
check "with the program" eval 'grep -qx -- --args gdb.called && grep -q "/mines$" gdb.called'
check "and its words" eval 'grep -qx here gdb.called && grep -qx in.segv gdb.called'
check "which then knows that it is a replay" grep -q ^WEFT_REPLAY gdb.called
if command -v gdb >/dev/null && ! is_sanitized; then
    printf 'run\nbacktrace\nkill\nquit\n' >commands
    try weft replay "$id" --debug <commands
    check "in a real one it stops where it crashes" grep -q 'SIGSEGV' "$out"
    check "in the job's own code" grep -q 'blow_up.*mines.c\|mines.c:[0-9]' "$out"
else
    skip "in a real one it stops where it crashes" "there is no gdb here, or a sanitizer is in the way"
fi

# Of a job of commands it is the mapper that is debugged.
cat >crash.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void blow_up(void) { abort(); }
int main(int argc, char **argv)
{
    char line[100];
    while (fgets(line, sizeof line, stdin))
        if (strncmp(line, "boom", 4) == 0 && argc == 2 && getenv("mapreduce_map_input_file"))
            blow_up();
        else
            printf("%s", line);
    return argc > 2 && argv[2];
}
END
cc -g -O0 crash.c -o crash || exit 1
fail --map "./crash 'two words'" in.segv
rm -f gdb.called
cat >fake/gdb <<'END'
#!/bin/sh
{
    for word; do echo "$word"; done
    cat "$(expr "$*" : '.*<\(/dev/fd/[0-9]*\)')"
    env | grep -E '^(WEFT|mapreduce_map_input_file)'
} >gdb.called
END
PATH=$PWD/fake:$PATH try weft replay --debug "$id"
check "--debug of a command starts gdb with the command" grep -qE '/crash$' gdb.called
check "and its words" grep -qx 'two words' gdb.called
check "and just the record" [ "$(grep -c '^boom segv$' gdb.called)" = 1 ]
check "in the environment of its task" grep -qx 'mapreduce_map_input_file=.*in.segv' gdb.called
check_not "without a trace of the replay" grep -q ^WEFT_REPLAY gdb.called
cat >script <<'END'
#!/usr/bin/env -S bash -e
while read -r line; do
    [ "$line" != "boom segv" ]
    if [ "$line" = $'\x1e' ]; then echo "$line"; fi
done
END
chmod +x script
fail --keep --map ./script in.segv
PATH=$PWD/fake:$PATH try weft replay --debug "$id"
check "a script is its interpreter's" eval 'grep -A 2 -x /usr/bin/env gdb.called | tr "\n" " " | grep -q "/usr/bin/env -S bash -e .*script"'
check "a kept one gets the end of a task" grep -qx $'\x1e' gdb.called
fail --shell --map "./crash 'two words'" in.segv
rm gdb.called
PATH=$PWD/fake:$PATH try weft replay --debug "$id"
check "a line that needs no shell can be debugged" grep -qx 'two words' gdb.called
fail --shell --map 'cat | ./crash x' in.segv
PATH=$PWD/fake:$PATH fails_with "a line for a shell cannot" '1|5' 'for a shell' weft replay --debug "$id"
record=$(sed -n 's/.*the record is in //p' "$err")
check "but its record is there" [ "$(cat "$record")" = 'boom segv' ]
if command -v gdb >/dev/null && ! is_sanitized; then
    fail --map "./crash 'two words'" in.segv
    printf 'run\nrun\nbacktrace\nkill\nquit\n' >commands
    try weft replay "$id" --debug <commands
    check "in a real gdb the command stops where it crashes, every time" \
        [ "$(grep -c 'received signal SIGABRT' "$out")" = 2 ]
    check "in its own code" grep -q 'blow_up.*crash.c' "$out"
fi
mkdir none
fails_with "without gdb it says so" 4 'gdb is not installed' \
    env PATH="$PWD/none" "$E2E_TOOLS/corral" -l "$left" -- "$WEFT" replay --debug "$id"

# ---- notes do not stay for ever ---------------------------------------------------------------------------

notes=$XDG_CACHE_HOME/weft/replay
rm "$notes"/*
for i in $(seq 101 250); do echo '{}' >"$notes/abc$i.json" && touch -d "$i minutes ago" "$notes/abc$i.json"; done
: >"$notes/abc250.record" && : >"$notes/abc101.record"
touch -d '40 days ago' "$notes/README.json" "$notes/abc101.json"
fail ./mines in.segv
check "of many notes the newest hundred stay" eval '[ "$(ls "$notes"/*[0-9a-f].json | wc -l)" = 100 ]'
check "this one too" [ -e "$notes/$id.json" ]
check "and the one before" [ -e "$notes/abc102.json" ]
check_not "but not the oldest" [ -e "$notes/abc250.json" ]
check_not "nor its record" [ -e "$notes/abc250.record" ]
rm "$notes"/abc1[1-9]*
touch -d '31 days ago' "$notes/abc102.json"
fail ./mines in.segv
check_not "one of last month goes" eval '[ -e "$notes/abc101.json" ] || [ -e "$notes/abc101.record" ]'
check_not "even if it is alone" [ -e "$notes/abc102.json" ]
check "what is none stays" [ -e "$notes/README.json" ]

# ---- what cannot be replayed ------------------------------------------------------------------------------

fails_with "an ID that nobody gave" 4 'no such replay' weft replay 01234567
fails_with "something that is no ID" 2 'not the ID' weft replay ../../etc/passwd
fails_with "no ID" 2 'which one' weft replay
fails_with "two of them" 2 'one replay at a time' weft replay "$id" "$id"
fails_with "an unknown option" 2 'unknown option' weft replay --fast "$id"
mv in.segv gone.segv
fails_with "an input that is gone is named" 4 'in.segv' weft replay "$id"
seq 10 >in.segv
fails_with "one that has become another is told" '1|4|5' 'in.segv.*changed|changed.*in.segv' weft replay "$id"
mv gone.segv in.segv
echo '{"version":1,' >"$notes/$id.json"
fails_with "a note that is damaged is no note" 4 'no such replay' weft replay "$id"
try weft replay --help
check "there is help" eval '[ "$code" = 0 ] && grep -q -- --debug "$out"'
rm -rf "$XDG_CACHE_HOME"/weft/replay && : >"$XDG_CACHE_HOME"/weft/replay
try weft run -q ./mines in.segv
says "without a place for notes the record is shown all the same" 'at offset 13893'
check_not "and no ID is promised" grep -q 'weft replay' "$err"

finish
