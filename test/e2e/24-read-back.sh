#!/bin/bash
# Outputs that are inputs, and what else lies in a directory: marked names, links, files without a size.
# also: asan
. "$(dirname "$0")/lib.sh"

generate lines 20000 241 >text
sort text >expected

# A directory that weft has written is read back without what is not data.
check "a directory is written" answer sort text -o out/ --reducers 3
check "its manifest has a name that is not data" [ "$(find out -type f ! -name 'part-*' | sort | tr '\n' ' ')" = "out/_SUCCESS out/_manifest.json " ]
gives "it is read back as it was" expected weft run sort out
check "silently" eval '! grep -q "left out" "$err"'
gives "by a pattern too" expected weft run sort 'out/*'
gives "and by streaming" expected eval 'weft streaming -input out -output again -mapper cat -numReduceTasks 0 >/dev/null 2>"$dir/err2" && cat again/part-* | tr -d "\t" | sort'
gives "whose output is read back as well" expected eval 'weft run sort again | tr -d "\t"'
check "it is verified" weft verify out
check "the same command again finds it complete" weft run sort text -o out/ --reducers 3

# One that a version before has written: the manifest had another name.
mv out/_manifest.json out/manifest.json
gives "an output of a version before is read back without its manifest" expected weft run sort out
check "and is verified" weft verify out
check "and found complete" weft run sort text -o out/ --reducers 3
check "and replaced by --force" answer sort text -o out/ --reducers 2 --force
check "by one with the name of today" [ ! -e out/manifest.json -a -e out/_manifest.json ]
mkdir mine && cp expected mine/data && printf '{"name":"mine"}\n' >mine/manifest.json && : >mine/_SUCCESS
try weft run grep name mine
check "a manifest.json that is not ours is data" [ "$(cat "$out")" = '{"name":"mine"}' ]

# Names that begin with _ are told, since somebody may have meant them.
mkdir tree && cp expected tree/data && echo inside >tree/__init__.py && mkdir tree/_old && echo old >tree/_old/f
gives "names that begin with _ are left out of a directory" expected weft run sort tree
says "and told" '_.* and 1 more were left out'
gives "a name that is given is read" tree/__init__.py weft run sort tree/__init__.py
gives "so is a pattern that begins with it" tree/__init__.py weft run sort 'tree/__*'
try weft run -q sort tree
check "-q does not tell" [ "$code:$(wc -c <"$err")" = 0:0 ]

# Links: followed, to directories as to files; loops are noticed.
mkdir away links && mv tree/data away/data && ln -s ../away links/away
gives "a link to a directory is followed" expected weft run sort links
ln -s . away/up
gives "a link that leads back up is left out" expected timeout 60 "$WEFT" run sort links/away
says "and told" 'up/ was left out: it leads back'
rm away/up
ln -s nowhere links/dangling
fails_with "a link that leads nowhere names itself and where it leads" 4 'links/dangling' weft run sort links
says "and where it leads" 'link to nowhere'
says "and what to do" '--skip-missing'
gives "--skip-missing goes on without it" expected weft run --skip-missing sort links
says "and tells it" 'links/dangling is missing'
fails_with "so does a link that is named" 4 'link to nowhere' weft run sort links/dangling
gives "--skip-missing goes on without a missing name" expected weft run sort nobody away --skip-missing
printf '%s\n' away/data nobody >names
gives "and without one of a list" expected weft run sort @names --skip-missing
gives "and without a pattern that matches nothing" expected weft run sort 'no*body' away --skip-missing
fails_with "nothing but missing ones is an error" 4 'no input is left: nobody is missing' weft run sort nobody --skip-missing
fails_with "and of several the first is named" 4 'nobody and all others are missing' weft run sort nobody noone --skip-missing
ln -s round links/round
fails_with "a link to itself is told as one" 4 'link' weft run sort links/round

# Files that claim to be empty.
if [ -r /proc/self/limits ] && [ "$(stat -c %s /proc/self/limits)" = 0 ]; then
    sort /proc/cpuinfo | grep -v MHz >expected.proc
    check "a file of /proc is read though it claims to be empty" eval 'weft run sort /proc/cpuinfo | grep -v MHz | cmp - expected.proc'
else
    skip "a file of /proc is read though it claims to be empty" "no such file here"
fi
: >nothing
gives "also on standard input" expected.proc eval 'weft run sort - </proc/cpuinfo | grep -v MHz'
# And files that claim to have a page.
page=/sys/kernel/mm/transparent_hugepage
[ -r $page/enabled ] || page=/sys/module/kernel/parameters
file=$(find $page -maxdepth 1 -type f -size 4096c -readable 2>/dev/null | sort | head -n 1)
if [ -n "$file" ] && cat "$file" >expected.page 2>/dev/null && [ "$(wc -c <expected.page)" -lt 4096 ]; then
    gives "a file of /sys is read though it claims to be larger" expected.page answer grep '' "$file"
    gives "also on standard input, after /proc" expected.page eval "answer grep '' - <$file"
    cat "$file" "$file" nothing >expected.page
    gives "also beside others" expected.page answer grep '' "$file" nothing "$file"
    gives "also in a list" expected.page eval "printf '%s\n' $file $file | answer grep '' @-"
else
    skip "a file of /sys is read though it claims to be larger" "no such file here"
fi
gives "an empty file is empty" nothing weft run sort nothing

# A name that is not UTF-8 is the same name the next time.
name=$(printf 'caf\xe9') && cp text "$name"
check "an input may have a name that is not UTF-8" answer sort "$name" -o named/
gives "the same command finds it complete" nothing weft run sort "$name" -o named/
says "and says so" 'complete, made by the same job'
mv "$name" "$(printf 'caf\xe8')"
fails_with "another one is another one" 5 'made from' weft run sort "$(printf 'caf\xe8')" -o named/
fails=(--shell --map '[ $mapreduce_task_partition != 1 ] || [ -e ready ] && cat' --lines-per-task 5000 --max-attempts 1 -n 1 caf*)
try weft run -q "${fails[@]}" -o half/
check "a run of it that fails is unfinished" [ "$code" != 0 -a -d .half.weft-unfinished ]
touch ready
try weft run --json "${fails[@]}" -o half/
check "and is gone on with" eval '[ "$code" = 0 ] && grep -q "\"resumed_tasks\":[1-9]" "$err"'

nothing_left "nothing is left by all of these"

finish
