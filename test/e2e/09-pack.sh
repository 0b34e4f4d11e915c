#!/bin/bash
# weft pack and weft unpack: the same content, the same hash; nothing outside; whole or not there.
# also: asan
. "$(dirname "$0")/lib.sh"

hash_of() { cut -d ' ' -f 1 "$1"; }
same_hash() { [ "$(hash_of "$1")" = "$(hash_of "$2")" ] || { cat "$1" "$2" && false; }; }
cached=$XDG_CACHE_HOME/weft/environments

# ---- A directory --------------------------------------------------------------------------------------------

mkdir -p tree/{deep/er,empty,.git,__pycache__} outside
generate words 300000 1 >tree/words
printf '#!/bin/sh\necho runs\n' >tree/program && chmod 755 tree/program
echo text >tree/deep/er/text
echo far >outside/far && echo one >outside/one
touch tree/.git/x tree/__pycache__/x.pyc tree/m.py tree/m.pyc tree/alone.pyc
long=$(printf '%0120d' 1)
mkdir -p "tree/$long" && echo l >"tree/$long/$long"
ln -s deep/er/text tree/inside
ln -s "$PWD/tree/deep" tree/absolute
ln -s ../../words tree/deep/er/up
ln -s ../outside tree/out
ln -s "$PWD/outside/one" tree/one
ln -s nowhere tree/dangling
ln -s /nowhere/at/all tree/gone
mkfifo tree/fifo
try weft pack tree
check "a directory is packed" is "$code" 0
cp "$out" packed
says "a link that leads nowhere is named" 'tree/gone is left out: it is a link to /nowhere'
says "and so is a FIFO" 'tree/fifo is left out: it is neither'
says "what is left out is counted" '3 names left out'
check "what it prints is for sha256sum" sha256sum -c packed
archive=$(cut -d ' ' -f 3 packed)
check "the archive is named by its hash" is "$archive" "tree-$(hash_of packed | cut -c 1-16).tar.zst"

try weft unpack "$archive"
check "it is unpacked" is "$code" 0
where=$(cat "$out")
check "below its hash" is "$where" "$cached/$(hash_of packed)/tree"
(cd tree && find . -type f ! -path '*/.git/*' ! -path '*/__pycache__/*' ! -name m.pyc -exec sha256sum {} + | LC_ALL=C sort -k 2) >expected
sed -i 's|  ./absolute|  ./absolute|' expected
(cd "$where" && find . -type f ! -path './out/*' ! -path ./one -exec sha256sum {} + | LC_ALL=C sort -k 2) >actual
same "with the same files" expected actual
check "programs can be executed" is "$("$where/program")" runs
check "others cannot" test ! -x "$where/words"
check "a link stays a link" is "$(readlink "$where/inside")" deep/er/text
check "an absolute one becomes relative" is "$(readlink "$where/absolute")" deep
check "one that leads out is the file" is "$(cat "$where/one")" one
check "or the directory" is "$(cat "$where/out/far")" far
check "no link leads out" is "$(find "$where" -type l -exec readlink -e {} + | grep -vc "^$where/")" 0
check "an empty directory is there" test -d "$where/empty"
check "only we can look" is "$(stat -c %a "$cached")" 700
try weft unpack "$archive"
check "the second time it is there" is "$(cat "$out")" "$where"
try weft unpack --have "$(hash_of packed)"
check "--have knows it" is "$code $(cat "$out")" "0 $where"
fails_with "and that it does not have another one" 4 'does not have' weft unpack --have "$(printf '%064d' 1)"

# ---- The same hash ------------------------------------------------------------------------------------------

cp -a tree copy
find copy -depth ! -type l -exec touch -d 2001-01-01 {} +
chmod -R g+w,o-rx copy 2>/dev/null
mkdir copies && mv copy copies/tree && cd copies/tree || exit 1
rm out absolute && ln -s ../../outside out && ln -s "$PWD/deep" absolute && cd ../.. || exit 1
try taskset -c 0 "$WEFT" pack -q -o copied.tar.zst copies/tree
cp "$out" again
check "other times, permissions, cores and another place: the same hash" same_hash packed again
cmp -s "$archive" copied.tar.zst
check "and the same bytes" is $? 0
echo more >>copies/tree/deep/er/text
try weft pack -q -o changed.tar.zst copies/tree
cp "$out" changed
check_not "another content has another hash" same_hash packed changed
try weft pack -q --exclude '*.py*' --exclude deep/er -o less.tar.zst tree
tar --zstd -tf less.tar.zst >listed
check_not "--exclude leaves names and paths out" grep -E 'deep/er|alone' listed
try weft pack -q --all -o all.tar.zst tree
check "--all leaves nothing out" grep -q '^.git/x$' <(tar --zstd -tf all.tar.zst)
check "tar reads it" grep -q "^$long/$long\$" <(tar --zstd -tf "$archive")

mkdir self && echo 1 >self/f && mkdir "self/$(printf 'odd \377\303\251')"
(cd self && weft pack -q . >../self.1 && weft pack -q . >../self.2 && weft pack -q -o one.tar.zst . >../self.3 && weft pack -q -o one.tar.zst . >../self.4) 2>"$err"
check "archives in the directory that is packed are left out" same_hash self.1 self.2
rm self/self-*
(cd self && weft pack -q -o one.tar.zst . >../self.3) 2>"$err"
check "also under a name of the user's" same_hash self.1 self.3
odd=$(printf 'odd \377%0200d' 1)
mkdir "$odd" && weft pack -q -o odd.tar.zst "$odd" >"$out"
check "any name will do" weft unpack -C odd.there odd.tar.zst

# ---- Archives of others, pex ----------------------------------------------------------------------------------

try weft pack -q -o . "$archive"
cp "$out" again
check "an archive of weft pack becomes the same" same_hash packed again
mkdir -p plain/a/b && echo 1 >plain/a/b/f && ln plain/a/b/f plain/a/hard && ln -s b/f plain/a/link
for option in --sort=name '--format=gnu -z' '--format=pax --xz'; do
    # shellcheck disable=SC2086
    tar -C plain -c $option -f one.tar ./a
    weft pack -q -o one.tar.zst one.tar >"packed.${option//[^a-z]/}" 2>"$err"
done
check "compressed or not, in any order: the same hash" same_hash packed.sortname packed.formatgnuz
check "in any format" same_hash packed.sortname packed.formatpaxxz
weft unpack -C here one.tar.zst >"$out"
check "hard links are files" is "$(cat here/a/hard)" 1
printf 'import sys\nprint("pexed", *sys.argv[1:])\n' >plain/__main__.py
python3 -m zipapp -p /usr/bin/python3 -o app.pex plain
weft pack -q -o pex.tar.zst app.pex >"$out"
check "a pex is packed" is "$("$(weft unpack pex.tar.zst)/app.pex" now)" "pexed now"
tar -cf links.tar -C / --transform 's|.*|l|S' "${dir#/}/work/tree/gone"
fails_with "a tar with a link that leads out is refused by name" 2 '"l" in it is a link that leads out' weft pack links.tar
fails_with "a text cannot be packed" 2 'neither a tar archive nor a pex' weft pack packed
fails_with "nor what is not there" 4 'no such file' weft pack nosuch

# ---- Refused, damaged ------------------------------------------------------------------------------------------

half=$(($(stat -c %s "$archive") / 2))
head -c $half "$archive" >cut.tar.zst
fails_with "a cut archive is refused" 1 'cut.tar.zst' weft unpack cut.tar.zst
fails_with "and so is one with another hash" 1 'has the hash' weft unpack --hash "$(hash_of changed)" "$archive"
cp "$archive" cut.tar.zst
printf 'xxxx' | dd of=cut.tar.zst bs=1 seek=$half conv=notrunc 2>/dev/null
fails_with "and a damaged one" 1 'cut.tar.zst' weft unpack -C damaged cut.tar.zst
check "nothing of it is left" test ! -e damaged
fails_with "an archive of tar is refused" 1 'not an archive of weft pack' weft unpack one.tar
weft unpack --hash "$(hash_of changed)" - <changed.tar.zst >"$out"
check "an archive comes through a pipe" is "$(cat "$out")" "$cached/$(hash_of changed)/tree"
fails_with "a directory that is there is not touched" 5 'is there already' weft unpack -C here "$archive"

# ---- Killed, full ------------------------------------------------------------------------------------------------

generate words 50000000 2 >tree/many
mkdir made
kill_when '[ -n "$(find made -name ".*weft-*")" ]' "$WEFT" pack -q --level 12 -o made tree 2>/dev/null
check "one that is killed leaves no archive" is "$(find made -name '*.zst' ! -name '.*' | wc -l)" 0
weft pack -q -o made tree >packed 2>/dev/null
check "and the next one removes its file" is "$(find made -type f | wc -l)" 1
big=$(cut -d ' ' -f 3 packed)
kill_when '[ -n "$(find "$cached/jobs" -name "many")" ]' "$WEFT" unpack "$big"
check_not "of one that is killed nothing is found" weft unpack --have "$(hash_of packed)"
for _ in 1 2 3; do "$WEFT" unpack "$big" >>many & done
wait
check "three at once find the same" is "$(sort -u many)" "$cached/$(hash_of packed)/tree"
check "and leave nothing else" is "$(find "$cached/jobs" -mindepth 1 | wc -l)" 0
cmp -s tree/many "$cached/$(hash_of packed)/tree/many"
check "with all its bytes" is $? 0
env --default-signal=INT "$WEFT" pack -q --level 19 -o made tree >"$out" 2>"$err" &
pid=$!
until [ -n "$(find made -name '.*weft-*')" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -INT $pid
wait $pid
check "Ctrl-C ends it" is $? 130
check "and leaves nothing" is "$(find made -type f | wc -l)" 1

check "Ctrl-C ends the unpacking" is "$(
    env --default-signal=INT "$WEFT" unpack -C interrupted "$big" >"$out" 2>"$err" &
    pid=$!
    until [ -n "$(find . -maxdepth 3 -path './.interrupted.weft-*/tree/*')" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.002; done
    kill -STOP $pid && kill -INT $pid && kill -CONT $pid
    wait $pid
    echo $?)" 130
check "and leaves nothing of it" is "$(find . -maxdepth 1 -name '*interrupted*')" ""
kill_when '[ -n "$(find . -maxdepth 3 -path "./.killed.weft-*/tree/*")" ]' "$WEFT" unpack -C killed "$big"
check "one that is killed leaves its files hidden" test ! -e killed
weft unpack -C killed "$big" >"$out"
check "and the next one removes them" is "$(find . -maxdepth 1 -name '*killed*')" ./killed

mkdir disk
if unshare -rm sh -c "mount -t tmpfs -o size=1M none '$PWD/disk'" 2>/dev/null; then
    full() { unshare -rm sh -c 'mount -t tmpfs -o size=1M none "$1" && shift && "$@"; code=$?; find "$0" -type f | grep -v lock; exit $code' "$PWD/disk" "$PWD/disk" "$@"; }
    fails_with "a full disk ends the packing, and nothing is left" 5 'no space' full "$WEFT" pack -q -o "$PWD/disk" tree
    XDG_CACHE_HOME=$PWD/disk fails_with "and the unpacking" 5 'no space' full "$WEFT" unpack "$big"
else
    skip "a full disk ends the packing" "cannot mount"
fi
finish
