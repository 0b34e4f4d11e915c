#!/bin/bash
# Members on two machines, as network namespaces, and a cable that is pulled out: for a while, for good.
# takes long
. "$(dirname "$0")/lib.sh"

program=$(dirname "$WEFT")/examples/count
[ -x "$program" ] || { skip "examples/count" "it is not built" && finish; }
if ! is_root || ! ip netns add "weft$$" 2>/dev/null; then
    skip "members on two machines" "only root can make network namespaces, where the kernel has them"
    finish
fi
ip netns del "weft$$"

for ((i = 0; i < 3000; i++)); do
    echo "file $i has five words" >file$i
    echo file$i
done >filenames.txt
echo -n 15000 >total
cut_link() { timeout -k 5 100 python3 "$e2e/tools/cut_link.py" "$1" "program=$program"; }
check "cut for 3 s: nothing is lost and nobody fails" cut_link for_a_while
check "cut for good: one says why, the others have what it had" cut_link for_good
finish
