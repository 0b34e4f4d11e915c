#!/bin/bash
# A program runs with a library of another version than that of its header: with the first header, which lies in
# test/abi, with one whose structs are shorter than ours, and with one whose structs are longer.
# also: asan
. "$(dirname "$0")/lib.sh"

# build_with FOLDER NAME
build_with() {
    local library
    library=$(dirname "$WEFT")
    "${CC:-cc}" -O1 -g -Wall -Wextra -Werror -I"$1" "$e2e/jobs/abi.c" -o "$2" -L"$library" -lweft -Wl,-rpath,"$library"
}

# change_structs FOLDER EDIT: a copy of our header there, with the sed script applied inside of each struct that may grow.
growing='weft_(job|options|join_options|queue_options|item|queue_state|var_options|kv_entry|kv_options)'
change_structs() {
    mkdir -p "$1/weft" && cp "$root"/include/weft/* "$1/weft" &&
        sed -Ei "/^typedef struct $growing \{/,/^\} $growing;/{ $2 }" "$1/weft/weft.h" "$1/weft/cluster.h" &&
        ! cmp -s "$root/include/weft/weft.h" "$1/weft/weft.h" &&
        ! cmp -s "$root/include/weft/cluster.h" "$1/weft/cluster.h"
}

serve
check "a program is built with the first header" build_with "$root/test/abi/0.1" first
check "and runs with this library" corral -l "$left" -- ./first .

# The last member of each, but of the item and the entry, whose last ones were always there.
check "a header has shorter structs" change_structs older \
    '/\(\*group\)\(|^    uint64_t version;$|\*bad_records;|^    bool is_closed;|uint32_t timeout_ms;  \/\/ for each call by this handle; 0/d'
check "a program is built with it" build_with older older_program
check "and runs with this library" corral -l "$left" -- ./older_program .

check "a header has longer structs" change_structs newer 's/^\} weft_/    uint64_t news[3];\n&/'
check "a program is built with it" build_with newer newer_program
check "and runs with this library" corral -l "$left" -- ./newer_program .

soname() { readelf -d "$(dirname "$WEFT")/libweft.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
check "until 1.0 the name of the library has the minor version" is "$(soname)" libweft.so.0.1

finish
