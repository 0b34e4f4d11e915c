#!/bin/bash
# Elements that are nearly as large as may be: nobody is dropped for them, and the limit is told with its figure.
. "$(dirname "$0")/lib.sh"
unset WEFT_AT WEFT_TOKEN TF_CONFIG

"$WEFT" host --listen localhost:0 --port-file port >/dev/null 2>host.err &
host=$!
trap 'kill $host 2>/dev/null; cleanup' EXIT
until [ -s port ] || ! kill -0 $host 2>/dev/null; do sleep 0.02; done
WEFT_AT=localhost:$(cat port)
export WEFT_AT

head -c 62000000 /dev/zero | tr '\0' x >large
# Somebody waits for more than a host keeps for him, and asks for more of it meanwhile.
weft queue push q 1 2 3
pushers=()
for _ in 1 2 3 4; do
    "$WEFT" queue push q <large &
    pushers+=($!)
done
bytes=$("$WEFT" queue take q -n 7 | wc -c)
wait "${pushers[@]}"
check "elements that are larger together than what a host keeps for one" is "$bytes" 248000010
check_not "nobody is dropped for that" grep refused host.err
for _ in 1 2 3 4; do weft queue push q <large; done
weft queue close q
"$WEFT" queue take q -P 4 --stdin -- sh -c 'wc -c >>sizes'
check "nor with four at a time" is "$(sort -u sizes) $(wc -l <sizes)" "62000000 4"
check_not "who said so" grep refused host.err

head -c 62913536 /dev/zero | tr '\0' x >most
check "the largest that goes" weft queue push most <most
check "comes back whole" is "$("$WEFT" queue take most -n 1 | wc -c)" 62913537
echo x >>most
fails_with "one byte more is refused, with the figure" 2 'at most 62913536' weft queue push most <most

if is_sanitized; then
    skip "an element that there is no memory for goes back" "a sanitizer takes the memory that is allowed"
else
    check "compile" compile short_memory
    for how in take start pop many; do
        weft queue push "$how" <large
        check "$how: an element that there is no memory for goes back" is \
            "$(./short_memory "$how" "$how" 100 2>/dev/null)" \
            "RESOURCE_EXHAUSTED: 1 stored, 0 leased
OK: 62000000 bytes"
    done
    weft queue push copied <large
    check "also one for whose copy there is none" is \
        "$(./short_memory copied many 165 2>/dev/null)" \
        "RESOURCE_EXHAUSTED: 1 stored, 0 leased
OK: 62000000 bytes"
fi
kill $host
wait $host
finish
