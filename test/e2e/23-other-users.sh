#!/bin/bash
# Other users of the machine, who can write where we do, and what we find under our names: no file elsewhere is
# touched, nothing of ours is shown to them, and nothing of the user's own is taken for ours.
# also: asan
. "$(dirname "$0")/lib.sh"

umask 022
printf 'one two two\n' >text
mkdir -m 1777 shared
mkdir mine
echo precious | tee precious >mine/part-00000
kept() { [ "$(cat precious)" = precious ] && [ "$(cat mine/part-00000)" = precious ] && [ "$(ls -A mine)" = part-00000 ]; }
mode() { stat -c %a "$1"; }
# Whether nothing in the directory, itself included, is for others.
is_private() { [ -z "$(find "$1" -perm /077 -printf '%m %P\n' | tee /dev/stderr)" ]; }

# --- what others have put there -----------------------------------------------------------------------

if is_root && can_be_nobody; then
    chmod 755 "$dir/work"
    as_nobody mkdir -m 777 shared/.a.weft-unfinished
    as_nobody ln -s "$PWD/precious" shared/.a.weft-unfinished/part-00000
    fails_with "an unfinished output of another user is not used" '5' "belongs to another user" \
        weft run wordcount text -o shared/a/
    check "what its links lead to is as it was" kept
    as_nobody ln -s "$PWD/mine" shared/.b.weft-unfinished
    fails_with "nor a link that another user has made" '5' "symbolic link" weft run wordcount text -o shared/b/
    check "where it leads all is as it was" kept
    fails_with "--force makes no difference" '5' "belongs to another user" \
        weft run --force wordcount text -o shared/a/
    check "all is as it was" kept
    as_nobody ln -s "$PWD/precious" shared/c
    fails_with "a link of another user is not followed by --force -o FILE" '5' "belongs to another user" \
        weft run --force wordcount text -o shared/c
    check "what it leads to is as it was" kept
    ln -s "$PWD/own" shared/d && echo old >own
    check "one's own is" weft run -q --force wordcount text -o shared/d
    check "what it leads to is replaced" grep -q two own
    weft run -q wordcount text -o mine.out/
    before=$(ls -i mine.out)
    as_nobody ln -s "$PWD/mine.out" shared/e
    fails_with "nor one to a directory by --force -o DIR/" 5 "belongs to another user" \
        weft run --force sort text -o shared/e/
    check "where it leads all is as it was, too" [ "$(ls -i mine.out)" = "$before" ]
    as_nobody mkfifo -m 666 shared/fifo
    (as_nobody timeout 20 cat shared/fifo >disclosed) &
    reader=$!
    fails_with "nothing is written to the pipe of another user" 5 "belongs to another user" \
        timeout 20 "$WEFT" run sort text -o shared/fifo
    timeout 1 sh -c ': >shared/fifo'
    wait $reader
    check "who reads it sees nothing" [ ! -s disclosed ]
    mkfifo shared/own
    timeout 20 cat shared/own >seen &
    check "one's own pipe is written to" timeout 20 "$WEFT" run -q sort text -o shared/own
    wait $!
    check "and read" cmp -s seen text
    as_nobody ln -s "$PWD/precious" shared/bad-list
    as_nobody ln -s "$PWD/made" shared/bad-list-2
    printf '1\nx\n' >numbers
    printf '#!/bin/sh\nwhile read -r line; do [ "$line" != x ] || exit 3; echo "$line"; done\n' >map
    chmod +x map
    for list in bad-list bad-list-2; do
        fails_with "nor is a link followed by --bad-records" 5 "belongs to another user" \
            weft run -q --force --skip-bad 1 --bad-records shared/$list --map ./map numbers
    done
    check "what they lead to is as it was, or not there" eval 'kept && [ ! -e made ]'
    mkdir root.out.d && chmod 777 root.out.d
    weft run -q wordcount text -o root.out.d/q/
    (umask 022 && as_nobody env XDG_CACHE_HOME=/nonexistent "$WEFT" run --force -q sort text -o root.out.d/q/) 2>q.err
    code=$?
    check "--force over what another user has made is refused before the work" [ $code = 5 ]
    check "by its owner" grep -q "belongs to another user" q.err
    check "and leaves nothing behind" [ "$(ls -A root.out.d)" = q ]
    install -o nobody -m 600 <(echo 00112233445566778899aabbccddeeff) token
    fails_with "a token file of another user" '5' "belongs to another user" \
        weft queue size --token-file token --at localhost:1 q
else
    skip "what other users have put there" "only root can become one"
fi

# --- what we find under our own names ---------------------------------------------------------------------

for how in -s ''; do
    rm -rf .e.weft-unfinished e
    mkdir -m 777 .e.weft-unfinished
    ln $how "$PWD/precious" .e.weft-unfinished/part-00000
    try weft run wordcount text -o e/
    check "a link ($how) in an unfinished output leads nowhere" kept
done
rm -rf .e.weft-unfinished e
yes 'a line that is long enough for this' | head -c 60000000 >big
kill_when 'has_done .f.weft-unfinished' "$WEFT" run -q --slots 2 sort big -o f/ --reducers 50
if [ -d .f.weft-unfinished ]; then
    check "an unfinished output is for us alone" [ "$(mode .f.weft-unfinished)" = 700 ]
fi
check "it can be gone on with" weft run -q --slots 2 sort big -o f/ --reducers 50
check "the finished one has the usual permissions" [ "$(mode f) $(mode f/part-00000)" = "755 644" ]
(umask 027 && exec "$WEFT" run -q wordcount text -o g/)
check "those that the umask leaves" [ "$(mode g) $(mode g/part-00000)" = "750 640" ]
mkfifo pipe
(umask 002 && cat text >pipe) & weft run -q wordcount pipe -o h/
wait $!
check "also of an output that cannot be gone on with" [ "$(mode h)" = 755 ]

# --- what is not ours ---------------------------------------------------------------------------------------

weft run -q wordcount text -o out/
mkdir out/part-1 && echo mine >out/part-1/file
fails_with "--force does not remove a directory called part-1" 5 "other files" weft run --force wordcount text -o out/
check "it is there" [ "$(cat out/part-1/file)" = mine ]
rm -r out/part-1 && echo mine >out/part-7
fails_with "nor a file that is not in the manifest" 5 "other files" weft run --force wordcount text -o out/
check "it is there, too" [ "$(cat out/part-7)" = mine ]
rm out/part-7 out/part-00000 && ln -s "$PWD/precious" out/part-00000
fails_with "nor a link" 5 "other files" weft run --force wordcount text -o out/
rm out/part-00000
check "what is left of an earlier output is replaced" weft run -q --force wordcount text -o out/
mkdir other && echo mine >other/part-00000
fails_with "nor part files without a manifest" 5 "other files" weft run --force wordcount text -o other/
check "they are there" [ "$(cat other/part-00000)" = mine ]
mkdir empty
check "an empty directory is replaced" weft run -q --force wordcount text -o empty/

# --- what is for us alone ------------------------------------------------------------------------------------

umask 000
"$WEFT" host --listen localhost:0 --journal journal --port-file port >host.out 2>host.err &
host=$!
until [ -e port ] || ! kill -0 $host; do sleep 0.02; done
weft queue push --at "localhost:$(cat port)" q a b c
check "the journal of a host is for us alone" is_private journal
kill $host
wait $host
export XDG_STATE_HOME=$PWD/state XDG_CONFIG_HOME=$PWD/config
cat >nap.sh <<'END'
echo "$WEFT_TOKEN"
exec sleep 100
END
"$WEFT" cluster up -q --name one --role a=1 --restart 1 sh nap.sh
check "a cluster in the background is for us alone" is_private state/weft
check "and its token" is_private config/weft
"$WEFT" cluster down -q one
printf '#include <weft/weft.h>\nstatic void map(weft_task *t, weft_bytes r) { weft_emit(t, r, r); if (r.size > 3) weft_fail(t, "no"); }\nint main(int c, char **v) { weft_job j = {.name = "j", .map = map}; return weft_main(c, v, &j); }\n' >job.c
try weft run job.c text
check "what is compiled is for us alone" [ "$(mode "$XDG_CACHE_HOME/weft") $(mode "$XDG_CACHE_HOME/weft/jobs")" = "700 700" ]
check "also the programs themselves" is "$(stat -c %a "$XDG_CACHE_HOME"/weft/jobs/* | sort -u)" 700
check "and what is noted for a replay" is_private "$XDG_CACHE_HOME/weft/replay"
umask 022
if is_root && can_be_nobody; then
    chown nobody "$XDG_CACHE_HOME/weft/jobs"
    fails_with "compiled jobs of another user are not run" 5 "belongs to another user" weft run job.c text
fi
finish
