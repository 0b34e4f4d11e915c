#!/bin/bash
# Ctrl-C and SIGTERM at any moment: no process, no temporary file, no half output.
# also: tsan
. "$(dirname "$0")/lib.sh"

generate lines 700000 401 >distinct # 23 MB
sort distinct >sorted
compile slow
seq 1 2000 >lines

# interrupt SENTENCE CODE CORRAL-OPTIONS -- ARGUMENT...: the run either ended before, with a whole
# output, or was stopped, with the exit code of its signal and no output at all.
interrupt() {
    local sentence=$1 expected=$2
    shift 2
    local options=()
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    rm -rf output output.d
    corral "${options[@]}" -l "$left" -- "$WEFT" run "$@" >"$out" 2>"$err"
    code=$?
    local files
    files=$(find "$dir/tmp" . -mindepth 1 -newer "$dir/start" ! -name 'tsan.rodata.*' ! -name output ! -path './output.d*' 2>/dev/null)
    if [ -s "$left" ] || [ -n "$files" ]; then
        not_ok "$sentence: nothing is left"
        { cat "$left" && echo "$files" && cat "$err"; } | note
        : >"$left"
        find "$dir/tmp" -mindepth 1 -delete
    elif [ $code = 0 ] || { [ $code = "$expected" ] && { [ -e output ] || [ -e output.d ]; }; }; then
        # A signal between the commit and the end of the process still ends it: the output is whole.
        if [ -e output ]; then check "$sentence: done before, and whole" cmp sorted output
        else check "$sentence: done before, and whole" eval 'cat output.d/part-* | cmp - sorted && [ -f output.d/_SUCCESS ]'; fi
    else
        check "$sentence: exit $expected and no output" \
            eval '[ $code = '"$expected"' ] && [ ! -e output ] && [ ! -e output.d ] || { echo "exit $code"; ls; cat "$err"; false; }'
    fi
}

touch "$dir/start" && sleep 0.02
for ms in 0 1 3 5 8 12 20 33 50 70 95 130 180 250; do
    interrupt "Ctrl-C after $ms ms" 130 -s 2 -g -a $ms -- --memory 16M sort distinct -o output
    interrupt "SIGTERM after $ms ms" 143 -s 15 -a $ms -- --memory 16M sort distinct -o output
done
for ms in 2 15 40 90 150; do
    interrupt "SIGINT to the driver alone after $ms ms" 130 -s 2 -a $ms -- sort distinct -o output
    interrupt "SIGTERM to the whole group after $ms ms" 143 -s 15 -g -a $ms -- sort distinct -o output
    interrupt "Ctrl-\\ after $ms ms" 131 -s 3 -g -a $ms -- --memory 16M sort distinct -o output
    interrupt "SIGTERM into a directory after $ms ms" 143 -s 15 -a $ms -- --reducers 5 sort distinct -o output.d/
done

# A job that is surely in its map when it happens.
interrupt "Ctrl-C in the middle of a map" 130 -s 2 -g -a 300 -- ./slow -u 10000 lines -o output
says "it says that it was interrupted" 'interrupt|cancel|stopp'
interrupt "SIGTERM in the middle of a map" 143 -s 15 -a 300 -- ./slow -u 10000 lines -o output
says "it says that it was terminated" 'terminat|cancel|stopp|SIGTERM'
interrupt "Ctrl-C with --json" 130 -s 2 -g -a 300 -- --json ./slow -u 10000 lines -o output
check "every line is an object even then" jsonlines <"$err"

# A callback that does not return must not keep Ctrl-C from working.
compile misbehave && echo boom >bomb && touch "$dir/start"
interrupt "Ctrl-C while a job loops" 130 -s 2 -g -a 300 -- ./misbehave -m loop bomb -o output
mkfifo never && exec 9<>never && sleep 0.02 && touch "$dir/start"
interrupt "Ctrl-C while it waits for a pipe" 130 -s 2 -g -a 200 -- wordcount never -o output
interrupt "SIGTERM while it waits for a pipe" 143 -s 15 -a 200 -- wordcount - -o output <never
exec 9>&-

# With --force the old output stays until the new one is complete.
echo old >precious && cp precious old && touch "$dir/start"
corral -s 15 -a 200 -l "$left" -- "$WEFT" run -q ./slow -u 10000 lines -o precious --force 2>"$err"
same "an interrupted run with --force leaves the old output" old precious

# A reader that is not reading: the run waits in a write when the signal comes.
mkfifo slowly && exec 8<>slowly
corral -s 2 -g -a 400 -l "$left" -- "$WEFT" run -q sort distinct >slowly 2>"$err"
check "Ctrl-C while nobody reads the answer" [ $? = 130 ]
exec 8>&-

finish
