#!/bin/sh
# generate.sh: makes src/wire/*.pb-c.[ch] from the schemas here. The result is committed, so that a
# build needs no protoc-c; run this after every change of a schema (package protobuf-c-compiler).
set -eu
cd "$(dirname "$0")"
command -v protoc-c >/dev/null || {
    echo "generate.sh: protoc-c is missing; install protobuf-c-compiler" >&2
    exit 1
}
for name in weft hadoop; do
    protoc-c --c_out=../src/wire $name.proto
    sed -i "s|^#include \"$name.pb-c.h\"|#include \"wire/$name.pb-c.h\"|" ../src/wire/$name.pb-c.c
done
