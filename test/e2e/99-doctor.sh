#!/bin/bash
# weft doctor --on ssh://: hosts that are well, and one that is away.
. "$(dirname "$0")/lib.sh"
. "$e2e/hosts.sh"
in_world "a doctor of ssh hosts"
fresh_hosts 3

try weft doctor --on ssh://h1,h2,h3
check "all hosts are well" [ "$code" = 0 ]
check "... each has its line" [ "$(grep -c '^ok      h[123]  .*a member started, a file written and read in .*; Linux' "$out")" = 3 ]
nothing_left_on_hosts "no process and no file is left on them"

hosts kill h2
try weft doctor --json --timeout 10s --on ssh://h1,h2
check "a host that is away is the failure" [ "$code" = 3 -o "$code" = 6 ]
check "... by its name" grep -q '"check":"h2","result":"failed"' "$out"
check "the other one is well" grep -q '"check":"h1","result":"ok"' "$out"
try weft cluster run --on ssh://h1 --role a=1 --constraint gpu true
check "a constraint that no host can match is refused" [ "$code" = 2 ]
check "... and said so" grep -q 'hosts of ssh have no labels' "$err"
finish
