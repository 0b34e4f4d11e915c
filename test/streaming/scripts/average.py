#!/usr/bin/env python3
# A join of two kinds of records by secondary sort: the name comes first, then the figures.
import sys

name = None
for line in sys.stdin:
    key, kind, value = line.rstrip("\n").split("\t")
    if kind == "0":
        name = value
    else:
        print("%s\t%s" % (name, value))
