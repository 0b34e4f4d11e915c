#!/bin/sh
# referrers.sh ACCESS_LOG...: the hosts whose links were followed, most frequent first. The second text in
# quotes of a log line is cut to its host; referrers.c does it in C, and minds quotes inside the texts.
weft run -q --shell --map 'cut -d \" -f 4 | sed -n "s|^[a-z-]*://\([^/:?#]*\).*|\1|p"' \
    --reduce 'uniq -c' "$@" | LC_ALL=C sort -k 1,1nr -k 2
