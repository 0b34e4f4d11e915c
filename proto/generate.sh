#!/bin/sh
# generate.sh: makes src/wire/*.pb-c.[ch] from the schemas here. The result is committed, so that a
# build needs no protoc-c; run this after every change of a schema (package protobuf-c-compiler).
set -eu
cd "$(dirname "$0")"
command -v protoc-c >/dev/null || {
    echo "generate.sh: protoc-c is missing; install protobuf-c-compiler" >&2
    exit 1
}
protoc-c --c_out=../src/wire weft.proto
sed -i 's|^#include "weft.pb-c.h"|#include "wire/weft.pb-c.h"|' ../src/wire/weft.pb-c.c
