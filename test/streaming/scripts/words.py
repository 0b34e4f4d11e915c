#!/usr/bin/env python3
# A mapper as tutorials have it: every word with a one.
import sys

for line in sys.stdin:
    for word in line.strip().split():
        print("%s\t%s" % (word, 1))
