#!/usr/bin/env python3
# A reducer as tutorials have it: adds up the values of a key, which come one behind the other.
import sys

current, total = None, 0
for line in sys.stdin:
    key, value = line.rstrip("\n").split("\t", 1)
    if key != current:
        if current is not None:
            print("%s\t%d" % (current, total))
        current, total = key, 0
    total += int(value)
if current is not None:
    print("%s\t%d" % (current, total))
