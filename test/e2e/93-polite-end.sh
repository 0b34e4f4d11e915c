#!/bin/bash
# What ends politely, or never began, is no failure of an item: however often that happens, it is not among the dead letters.
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

serve

weft queue push jobs one
for _ in 1 2 3 4 5 6; do
    "$WEFT" queue take jobs -- sh -c 'echo $WEFT_DELIVERY >>deliveries; sleep 4323' 2>term.err &
    worker=$!
    until_state jobs '"leased":1'
    kill -TERM $worker
    wait $worker
    until_state jobs '"size":1'
done
check "six workers that were ended by SIGTERM leave the item where it was" is "$(weft queue peek jobs)" one
check "and each was its first delivery" is "$(sort -u deliveries)" 1
check_not "nothing runs" pgrep -f 'sleep 4323'

weft queue push starts two
printf '#!/no/such/interpreter\n' >odd-command && chmod +x odd-command
for _ in 1 2 3 4 5 6; do
    "$WEFT" queue take starts -- ./odd-command 2>start.err
    echo $? >>codes
done
check_not "a command that cannot be started is a failure of the worker" grep -qx 0 codes
check "which names it" grep -q odd-command start.err
until_state starts '"size":1'
check "and not of the item" is "$(weft queue peek starts)" two
weft queue close starts
"$WEFT" queue take starts -- sh -c 'echo $WEFT_DELIVERY >started'
check "which is its first delivery still" is "$(cat started)" 1
check_not "there are no dead letters" sh -c "'$WEFT' queue ls | grep -q dead"

finish
