#!/bin/bash
# A full disk, where it spills or where the output goes: a clear error, and nothing is lost.
. "$(dirname "$0")/lib.sh"

generate lines 1200000 621 >distinct # 40 MB
sort distinct >sorted
mkdir spill disk
echo old >disk/old

no_space='no room|no space|disk is full|too large'
nospace() { # DIR BYTES ARGUMENT...
    local where=$1 bytes=$2
    shift 2
    corral -l "$left" -- env LD_PRELOAD="$E2E_TOOLS/nospace.so" WEFT_NOSPACE_DIR="$PWD/$where" \
        WEFT_NOSPACE_BYTES="$bytes" "$WEFT" run "$@"
}
if is_sanitized || ! ldd "$WEFT" >/dev/null 2>&1; then
    skip "a disk that looks full" "the command takes no preloaded library"
else
    for bytes in 0 1000 100000 5000000 20000000; do
        fails_with "the spill directory is full after $bytes bytes" 5 "$no_space" \
            nospace spill $bytes --memory 16M --tmp "$PWD/spill" sort distinct
        says "the message names the directory" 'spill'
        check "nothing stays in it" [ -z "$(ls -A spill)" ]
        fails_with "the output disk is full after $bytes bytes" 5 "$no_space" \
            nospace disk $bytes sort distinct -o disk/new
        says "the message names the output" 'disk'
        fails_with "the disk of a directory of parts is full after $bytes bytes" 5 "$no_space" \
            nospace disk $bytes sort distinct -o disk/parts/ --reducers 4
        [ ! -e disk/.parts.weft-unfinished ] || says "what is done of it is kept, which is told" 'the same command continues it'
        rm -rf disk/.parts.weft-unfinished
        fails_with "with --force it is full after $bytes bytes" 5 "$no_space" \
            nospace disk $bytes sort distinct -o disk/old --force
        check "no half output stays, and the old one does" [ "$(ls -A disk):$(cat disk/old)" = old:old ]
    done
fi

# A limit on the size of any file is the other way a write falls short: SIGXFSZ or EFBIG.
limited() { (ulimit -f 1000 && weft run "$@"); }
fails_with "a limit on file size stops the output" 5 "$no_space|limit" limited sort distinct -o disk/new
fails_with "a limit on file size stops the spill" 5 "$no_space|limit" \
    limited --memory 16M --tmp spill sort distinct -o disk/new
check "no half output stays, and the old one does" [ "$(ls -A disk):$(cat disk/old):$(ls -A spill)" = old:old: ]

# The real thing, where a file system may be mounted: in a mount namespace of its own.
can_mount() { unshare -rm sh -c "mount -t tmpfs -o size=1M none '$PWD/disk'" 2>/dev/null; }
if can_mount; then
    cat >inside <<'INSIDE'
mount -t tmpfs -o size=8M none disk || exit 99
echo old >disk/old
"$WEFT" run sort distinct -o "$1" $2
code=$?
rm -rf disk/.parts.weft-unfinished # what the next run goes on from
ls -A disk >listing
cat disk/old >>listing
exit $code
INSIDE
    printf 'old\nold\n' >expected
    for target in disk/new disk/parts/ "disk/old --force"; do
        # shellcheck disable=SC2086
        fails_with "a really full disk: -o $target" 5 "$no_space" \
            corral -l "$left" -- unshare -rm sh inside $target
        same "leaves what was there, and nothing else" expected listing
    done
else
    skip "a really full disk" "no mount namespace here"
fi
if is_root && truncate -s 12M image && mkfs.ext4 -q image 2>/dev/null &&
    unshare -m sh -c "mount -o loop image disk" 2>/dev/null; then
    cat >inside <<'INSIDE'
mount -o loop image disk && rm -rf disk/lost+found || exit 99
"$WEFT" run --memory 16M --tmp disk sort distinct -o sorted.new
code=$?
rm -rf disk/.parts.weft-unfinished # what the next run goes on from
ls -A disk >listing
exit $code
INSIDE
    fails_with "a really full spill disk" 5 "$no_space" corral -l "$left" -- unshare -m sh inside
    check "nothing stays on it" [ ! -s listing ]
    check "and there is no output" [ ! -e sorted.new ]
else
    skip "a really full spill disk" "needs root, mkfs.ext4 and a loop device"
fi
# A limit of the size of files (ulimit -f) is like a full disk: a sentence, and nothing left.
fails_with "an output larger than files may be" 5 'File too large|no room' \
    bash -c 'ulimit -f 9000; exec "$WEFT" run sort distinct -o limited'
check "leaves no output" [ -z "$(find . -name "*limited*")" ]
gives "after all that the same job works" sorted answer --memory 16M --tmp spill sort distinct

finish
