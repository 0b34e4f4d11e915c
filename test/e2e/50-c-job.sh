#!/bin/bash
# A C job: a source file built on the fly and cached, or a program that calls weft_main.
. "$(dirname "$0")/lib.sh"

generate words 2000000 501 >text
oracle words text >expected
cp "$e2e/jobs/words.c" "$e2e/jobs/words_own.c" .

gives "a source file is a job" expected answer words.c text
gives "again, from the cache" expected answer words.c text
gives "a job with a reducer of its own and blocks of lines" expected answer words_own.c text
gives "in little memory, with three slots" expected answer -n 3 --memory 16M words_own.c text
mkdir sub && cp words.c 'sub/my words.c'
gives "a source file with a blank in its name, elsewhere" expected answer 'sub/my words.c' text
gives "./ in front" expected answer ./words.c text
gives "an absolute name" expected answer "$PWD/words.c" text
check "into a file" answer words.c text -o counts
same "with the answer in it" expected counts
check "into a directory" answer words.c text -o counts.d/ --reducers 3
cat counts.d/part-* >actual
same "with the answer in its parts" expected actual
oracle top 10 <expected >expected.top
gives "--top works on a C job that counts" expected.top answer words.c --top 10 text
check "the current directory stays clean" [ -z "$(find . -name '*.o' -o -name 'a.out' -o -name 'words')" ]

# Which calls of the compiler happen? A wrapper in front of the real one tells.
mkdir bin
for name in cc gcc clang c99; do
    real=${CC:-$(command -v $name)} || continue
    printf '#!/bin/sh\necho "%s $*" >>"%s"\nexec %s "$@"\n' $name "$PWD/calls" "$real" >bin/$name
    chmod +x bin/$name
done
watched() { (unset CC && PATH=$PWD/bin:$PATH weft run -q "$@"); }
built() { grep -v -e ' -E ' calls 2>/dev/null | grep -c '\.c'; }
sed 's/"words"/"words2"/' words.c >changed.c
gives "a changed source is built" expected watched changed.c text
check "with the system compiler" [ "$(built)" -ge 1 ]
: >calls
gives "an unchanged one" expected watched changed.c text
check "is not built again" [ "$(built)" = 0 ]
cp changed.c copy.c
gives "the same content under another name, which is in its messages" expected watched copy.c text
: >calls
echo 'static const char more[] = "one more line";' >>changed.c
gives "a new content" expected watched changed.c text
check "is built" [ "$(built)" -ge 1 ]
check "the cache is under XDG_CACHE_HOME" [ -n "$(find "$XDG_CACHE_HOME" -type f)" ]

cat >broken.c <<'C'
#include <weft/weft.h>
int main(void)
{
    return undeclared_thing;
}
C
fails_with "a source that does not compile fails the job" 1 'broken\.c:4:12: error:.*undeclared_thing' \
    weft run broken.c text
says "the line is shown as the compiler shows it" 'return undeclared_thing;'
fails_with "again: a failure is not cached as a program" 1 'broken\.c:4:12: error:' weft run broken.c text
sed -i 's/undeclared_thing/0/' broken.c
fails_with "a program that does not call weft_main is not a job" 2 'broken\.c.*not a job' weft run broken.c text
printf '#include <weft/weft.h>\nint main(void) { return missing_function(); }\nint missing_function(void);\n' >unlinked.c
fails_with "a source that does not link fails the job" 1 'missing_function' weft run unlinked.c text
fails_with "a missing source is an error" 4 'nosuch\.c' weft run nosuch.c text
: >empty.c
fails_with "an empty source fails the job" 1 'main' weft run empty.c text
sed 's/"words"/"words3"/' words.c >fresh.c
try env -u CC PATH="$PWD/none:$E2E_TOOLS" "$WEFT" run fresh.c text
check "without a compiler it says what to install" eval '[ "$code" != 0 ] && grep -qiE "compiler|gcc|cc" "$err"'

# Two first runs at once must not trip over each other's half-built program.
sed 's/"words"/"words4"/' words.c >race.c
for n in 1 2 3; do answer race.c text >race.$n 2>&1 & done
wait
same "two first runs at once: one" expected race.1
same "two first runs at once: another" expected race.2
same "two first runs at once: a third" expected race.3
check "a read-only cache is no obstacle or a clear error" eval '
    mkdir ro && chmod 555 ro && XDG_CACHE_HOME=$PWD/ro weft run -q words.c text >actual 2>err.ro
    code=$?; if [ $code = 0 ]; then cmp actual expected; else grep -q ro err.ro; fi'

if compile words && compile words_own; then
    gives "a program that calls weft_main runs by itself" expected ./words -q text
    gives "with weft's options" expected ./words -q -n 3 --memory 32M text
    gives "and through weft run" expected answer ./words text
    gives "by an absolute name" expected answer "$PWD/words" text
    check "it takes -o" ./words -q text -o direct
    same "and has the answer" expected direct
    try ./words -h
    check "it has a -h" [ "$code" = 0 ]
    fails_with "it refuses what weft run refuses" 5 'exist' ./words text -o direct
    fails_with "it names a missing file" 4 'no-such-file' ./words no-such-file
    gives "it reads stdin" expected eval './words -q - <text'
    gives "it finds itself from another directory" expected eval '(cd sub && ../words -q ../text)'
    gives "it finds itself on PATH" expected env PATH="$PWD:$PATH" words -q text
else
    not_ok "a program compiles against weft.h and links with -lweft"
fi
printf '#!/bin/sh\nexit 0\n' >script && chmod +x script
fails_with "a program that is not a job is an error" 2 'script is not a job' weft run ./script text
echo text >plain
fails_with "a file that is not a program is an error" 2 'plain' weft run ./plain text


# --- nothing in the cache is stale

mkdir one two
printf '#define ANSWER "one"\n' >one/answer.h
printf '#define ANSWER "two"\n' >two/answer.h
cat >says.c <<'SOURCE'
#include <weft/weft.h>
#include <answer.h>

static void map(weft_task *task, weft_bytes line)
{
    (void)line;
    weft_emit(task, weft_text(ANSWER), weft_none());
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "says", .map = map};
    return weft_main(argc, argv, &job);
}
SOURCE
echo line >line
says_so() { printf '%s\n' "$2" >expected && gives "$1" expected "${@:3}"; }
kept() { find "$XDG_CACHE_HOME/weft/jobs" -type f | wc -l; }
says_so "a header that CPATH leads to" one env CPATH="$PWD/one" "$WEFT" run -q says.c line
says_so "another CPATH, another program" two env CPATH="$PWD/two" "$WEFT" run -q says.c line
says_so "C_INCLUDE_PATH counts as well" one env C_INCLUDE_PATH="$PWD/one" "$WEFT" run -q says.c line
says_so "and -I in CFLAGS" two env CFLAGS="-I$PWD/two" "$WEFT" run -q says.c line
before=$(kept)
says_so "the same again" one env CPATH="$PWD/one" "$WEFT" run -q says.c line
check "is from the cache" [ "$(kept)" = "$before" ]
printf '#define ANSWER "new"\n' >one/answer.h
says_so "a header that has changed, where the compiler does not list it" new \
    env CFLAGS="-isystem $PWD/one" "$WEFT" run -q says.c line
says_so "and where it is found by CPATH" new env CPATH="$PWD/one" "$WEFT" run -q says.c line
mkdir front
says_so "a place in front, still empty" new env CPATH="$PWD/front:$PWD/one" "$WEFT" run -q says.c line
printf '#define ANSWER "front"\n' >front/answer.h
says_so "a header that appears in front of the one that was found" front \
    env CPATH="$PWD/front:$PWD/one" "$WEFT" run -q says.c line
if ! is_sanitized; then
    printf 'const char *answer(void);\n#define ANSWER answer()\n' >one/answer.h
    library() { printf 'const char *answer(void) { return "%s"; }\n' "$1" >lib.c && cc -c lib.c; }
    library static
    says_so "a library" static env CPATH="$PWD/one" CFLAGS="$PWD/lib.o" "$WEFT" run -q says.c line
    library changed
    says_so "that has changed" changed env CPATH="$PWD/one" CFLAGS="$PWD/lib.o" "$WEFT" run -q says.c line
fi

# --- C++

cat >lengths.cpp <<'SOURCE'
#include <weft/weft.h>
#include <map>
#include <string>

static void map(weft_task *task, weft_bytes line)
{
    std::map<std::string, int> seen;
    weft_words words;
    weft_words_init(&words, line);
    for (weft_bytes word; weft_next_word(&words, &word);)
        seen[std::string(word.data, word.size)]++;
    for (const auto &[word, count] : seen)
        weft_emit_int(task, {word.data(), word.size()}, count);
}

int main(int argc, char **argv)
{
    const weft_job job = {.name = "lengths", .map = map, .reduce = weft_sum};
    return weft_main(argc, argv, &job);
}
SOURCE
if is_sanitized || ! command -v c++ >/dev/null; then
    skip "a C++ job" "a sanitizer, or no C++ compiler"
else
    oracle words text >expected
    gives "a C++ job is built and run" expected answer lengths.cpp text
    before=$(kept)
    gives "and kept" expected answer -n 2 lengths.cpp text
    check "in the cache" [ "$(kept)" = "$before" ]
    cp lengths.cpp lengths.cc
    gives "by any of its names" expected answer ./lengths.cc text
    printf 'int main( {\n' >broken.cpp
    fails_with "what does not compile is told by the compiler" 1 'broken\.cpp:1' weft run broken.cpp text
fi
fails_with "no C++ compiler is told, with what to install" '1|70|2' 'there is no C\+\+ compiler' \
    env CXX=no-such-compiler "$WEFT" run -q lengths.cpp text

finish
