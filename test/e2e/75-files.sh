#!/bin/bash
# --file: commands run in a directory that has the files they bring along, and only these.
# also: asan
. "$(dirname "$0")/lib.sh"

generate words 20000 75 >text
mkdir tools
printf '#!/bin/sh\nexec tr -cs A-Za-z "\\n"\n' >tools/map.sh && chmod +x tools/map.sh
tr -cs A-Za-z '\n' <text | sort -u | head -2 >tools/words.txt
tr -cs A-Za-z '\n' <text | sort | uniq -c >expected

gives "a script is found by its name" expected \
    answer --file tools/map.sh --map ./map.sh --reduce 'uniq -c' text
gives "also by an interpreter" expected answer --file tools/map.sh --map 'sh map.sh' --reduce 'uniq -c' text
gives "and by a shell" expected answer --shell --file tools/map.sh --map 'cat | ./map.sh' --reduce 'uniq -c' text
gives "with several workers" expected \
    answer --workers 2 -n 1 --file tools/map.sh --map ./map.sh --reduce 'uniq -c' text
printf 'map.sh\nwords.txt\n' >expected
gives "nothing else is in the directory" expected \
    answer -n 1 --file tools/map.sh --file=tools/words.txt --map 'sh -c "cat >/dev/null; ls"' tools/words.txt
grep -xf tools/words.txt <(tr -cs A-Za-z '\n' <text) >expected
gives "data is found, too" expected \
    answer -n 1 --shell --file tools/words.txt --map 'tr -cs A-Za-z "\n" | grep -xf words.txt' text
gives "the place is that of --tmp" <(echo yes) \
    answer -n 1 --tmp "$PWD" --file tools/words.txt --map "sh -c 'cat >/dev/null; case \$PWD in $PWD/*) echo yes ;; esac'" text
printf '#!/bin/sh\nsed "s|^|$map_input_file: |"\n' >tools/asks.sh && chmod +x tools/asks.sh
mkdir small && echo one >small/1 && echo two >small/2
printf 'small/1: one\nsmall/2: two\n' >expected
gives "a file that asks for its input has a process for each" expected answer --file tools/asks.sh --map ./asks.sh small
check "no directory is left" [ -z "$(find . "${TMPDIR:-/var/tmp}" -maxdepth 1 -name 'weft-work-*' -newer text 2>/dev/null)" ]

# --- a record that fails is found again, in the same place
printf '#!/bin/sh\nwhile read -r line; do\n    grep -qx "$line" words.txt || exit 3\n    echo "$line"\ndone\n' >tools/picky.sh
(cat tools/words.txt && echo 'no such word' && cat tools/words.txt) >lines
try answer --max-attempts 1 --file tools/picky.sh --file tools/words.txt --map 'sh picky.sh' lines
id=$(grep -o 'weft replay [0-9a-f]*' "$err" | head -1 | cut -d' ' -f3)
check "a bad record has a replay" [ -n "$id" ]
fails_with "which finds the files, too" 1 "exited with code 3" weft replay "$id"

# --- what does not fit together
fails_with "a file that is not there" 4 "no such file" weft run --file nowhere --map cat text
fails_with "a directory" 2 "is not a file" weft run --file tools --map cat text
mkdir other && cp tools/map.sh other
fails_with "two files of one name" 2 "another name" weft run --file tools/map.sh --file other/map.sh --map ./map.sh text
fails_with "a path that is not there any more" 2 "try: ./map.sh" weft run --file tools/map.sh --map tools/map.sh text
fails_with "in any word" 2 "try: words.txt" weft run --file tools/words.txt --map 'grep -f tools/words.txt' text
fails_with "a name that would be looked for in PATH" 2 "try: ./map.sh" weft run --file tools/map.sh --map map.sh text
fails_with "a job without commands" 2 "is for commands" weft run --file tools/words.txt wordcount text

# --- a run that is killed leaves no directory, nor does one that fails
fails_with "a command that fails" 1 "exited with code 3" \
    weft run -q --tmp "$PWD" --max-attempts 1 --file tools/words.txt --map 'sh -c "exit 3"' text
check "its directory is gone" [ -z "$(find . -maxdepth 1 -name 'weft-work-*')" ]
"$WEFT" run -q --tmp "$PWD" --file tools/words.txt --map 'sleep 300' text &
for _ in $(seq 200); do [ -n "$(find . -maxdepth 1 -name 'weft-work-*')" ] && break; sleep 0.05; done
kill -9 $!
wait $! 2>/dev/null
for _ in $(seq 200); do [ -z "$(find . -maxdepth 1 -name 'weft-work-*')" ] && break; sleep 0.05; done
check "also that of a run that was killed" [ -z "$(find . -maxdepth 1 -name 'weft-work-*')" ]

finish
