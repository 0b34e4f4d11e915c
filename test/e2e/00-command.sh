#!/bin/bash
# The command itself: help, version, and what it says to a wrong command line.
. "$(dirname "$0")/lib.sh"

try weft
check "weft alone succeeds" [ "$code" = 0 ]
check "weft alone shows how to run a job" grep -q 'weft run wordcount' "$out"
check "weft alone says it on stdout and nothing on stderr" [ ! -s "$err" ]
check "weft alone fits a screen" [ "$(wc -l <"$out")" -le 24 ]

try weft help
check "weft help succeeds" [ "$code" = 0 ]
check "weft help names the verb run" grep -qw run "$out"

for form in "run -h" "run --help" "help run"; do
    # shellcheck disable=SC2086 # the words of a form are arguments
    try weft $form
    check "weft $form succeeds" [ "$code" = 0 ]
    cp "$out" "help.${form// /_}"
done
same "weft run --help says what weft run -h says" help.run_-h help.run_--help
same "weft help run says what weft run -h says" help.run_-h help.help_run
for word in wordcount count sort grep index --top --slots --output --force --memory --tmp \
    --reducers --timeout --task-timeout --max-attempts --json --quiet --verbose; do
    check "weft run -h tells of $word" grep -qF -- "$word" help.run_-h
done
check "weft run -h leads with examples" eval 'head -n 12 help.run_-h | grep -q "weft run "'
check "no help line is wider than 100 columns" eval '! grep -qE "^.{101}" help.run_-h'

for form in version --version; do
    try weft $form
    check "weft $form prints a version number" grep -qE '[0-9]+\.[0-9]+\.[0-9]+' "$out"
    check "weft $form succeeds and prints one line" [ "$code:$(wc -l <"$out")" = 0:1 ]
done

echo "some words" >words.txt
fails_with "an unknown verb is wrong usage, with a guess" 2 'did you mean.*run' weft rnu
fails_with "an unknown job is not found, with a guess" 4 'did you mean.*wordcount' \
    weft run wordcont words.txt
fails_with "an unknown option is wrong usage, with a guess" 2 'did you mean.*--memory' \
    weft run --memmory 64M wordcount words.txt
fails_with "an unknown letter is wrong usage" 2 'Z' weft run wordcount -Z words.txt
fails_with "run without a job is wrong usage" 2 'job' weft run
fails_with "an option without its value is wrong usage" 2 'memory' weft run wordcount words.txt --memory
fails_with "a size without sense is wrong usage" 2 'memory.*lots|lots.*memory' \
    weft run --memory lots wordcount words.txt
fails_with "a time without sense is wrong usage" 2 'timeout' weft run --timeout soon wordcount words.txt
fails_with "no slots are wrong usage" 2 'slots' weft run --slots 0 wordcount words.txt
fails_with "minus two slots are wrong usage" 2 'slots' weft run --slots -2 wordcount words.txt
fails_with "no reducers are wrong usage" 2 'reducers' weft run --reducers 0 wordcount words.txt
fails_with "a number followed by rubbish is wrong usage" 2 'slots' weft run --slots 2x wordcount words.txt
fails_with "no attempts are wrong usage" 2 'max-attempts' weft run --max-attempts 0 wordcount words.txt
fails_with "a number beyond 64 bits is wrong usage" 2 'slots' \
    weft run --slots 99999999999999999999 wordcount words.txt

finish
