#!/bin/bash
# What make install leaves: a program is built and starts, wherever it was installed to.
. "$(dirname "$0")/lib.sh"

build=${WEFT_BUILD:-$(dirname "$WEFT")}
cp "$root/examples/wordcount.c" "$root/examples/texts/06-poem.txt" .
unset LD_LIBRARY_PATH LIBRARY_PATH CPATH PKG_CONFIG_PATH

# A loader's cache of our own, so that the machine's is left alone: it knows the directory in KNOWN.
mkdir fake
cat >fake/ldconfig <<'END'
#!/bin/sh
[ "$1" = -v ] && { echo "$KNOWN: (from a test)" && exit 0; }
echo "cache $*" >>"$CALLS"
END
chmod +x fake/ldconfig
export KNOWN=/nowhere CALLS=$PWD/calls
: >calls
install_to() { PATH=$PWD/fake:$PATH cmake --install "$build" --prefix "$1" >installed 2>&1; }

check "it is installed where nobody looks" install_to "$PWD/there"
check "it says what to export" grep -q 'try: export PATH=' installed
check "the loader's cache is left alone" test ! -s calls
# What it says is what is done.
sed -n 's/^ *\(try: \)\{0,1\}\(export .*\)/\2/p' installed >exports
build_it() {
    # shellcheck disable=SC1091,SC2046
    (. ./exports && cc -O1 -o words wordcount.c $(pkg-config --cflags --libs weft))
}
if is_sanitized; then
    skip "a program is built with what it says" "a sanitized library wants a sanitized program"
else
    check "a program is built with what it says" build_it
    weft run -q wordcount 06-poem.txt >expected
    gives "and starts with nothing set" expected ./words -q 06-poem.txt
    gives "weft run builds a job with the installed library" expected \
        there/bin/weft run -q wordcount.c 06-poem.txt
fi
if is_sanitized || ! pkg-config --exists libuv-static; then
    skip "a program without shared libraries" "needs libuv-static, and no sanitizer"
else
    link_it() {
        # shellcheck disable=SC1091,SC2046
        (. ./exports && cc -O1 -static -o alone wordcount.c $(pkg-config --static --cflags --libs weft) 2>link.err)
    }
    check "a program without shared libraries is linked" link_it
    gives "and runs" expected ./alone -q 06-poem.txt
fi
if [ -x "$build/weft-lean" ]; then
    there/bin/weft version >expected
    gives "the static command is where the command looks for it" expected there/lib/weft/weft-lean version
else
    skip "the static command is where the command looks for it" "this build has none"
fi
weft run -q wordcount 06-poem.txt >expected
check "the manual is there" test -s there/share/man/man1/weft-run.1
is_in_manual() { man -M "$PWD/there/share/man" 3 "$1" 2>&1 | grep -q "$2"; }
if command -v man >/dev/null; then
    check "man finds a function by its name" is_in_manual weft_take_now 'becomes a member of a cluster'
    check "and a reducer" is_in_manual weft_distinct 'MapReduce jobs in C'
else
    check "the manual has a page for every function" test -s there/share/man/man3/weft_take_now.3
    check "and for every reducer" test -s there/share/man/man3/weft_distinct.3
fi
if [ -d there/lib/weft/python ] && ! is_sanitized; then
    printf 'def mapfn(line):\n    return [(word, 1) for word in line.split()]\nfold = sum\n' >count.py
    gives "the installed command runs a Python script" expected there/bin/weft run -q count.py 06-poem.txt
    printf 'import weft, sys\nfor k, v in weft.run(map=weft.words, fold=sum, inputs=sys.argv[1]):\n    print(k, v, sep="\\t")\n' >words.py
    gives "and a program finds the command with the installed package" expected \
        env PYTHONPATH="$PWD/there/lib/weft/python" /usr/bin/python3 words.py 06-poem.txt
else
    skip "the installed command runs a Python script" "the package is not built, or sanitized"
fi
check "the completion of zsh is where zsh looks" test -s there/share/zsh/site-functions/_weft

KNOWN=$PWD/known/lib
check "it is installed where the loader looks" install_to "$PWD/known"
check "then its cache is made anew" grep -q cache calls
check_not "and nothing is to be exported" grep -q export installed
check_not "the program needs no path of its own" grep -q rpath known/lib/pkgconfig/weft.pc

: >calls
DESTDIR=$PWD/package check "it is installed for a package" install_to /usr/local
check "which has its own way of telling the loader" test ! -s calls
check "the paths are those of the package" grep -qx 'prefix=/usr/local' package/usr/local/lib/pkgconfig/weft.pc
if [ "$build" -ef "$root/build" ]; then
    make -s -C "$root" uninstall DESTDIR="$PWD/package" >removed
    check "make uninstall leaves no file and no directory of ours" is \
        "$(find package -type f -o -name 'weft*' | wc -l)" 0
fi
finish
