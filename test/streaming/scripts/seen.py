#!/usr/bin/env python3
# Shows every line of standard input as it is, as a Python literal.
import sys

for line in sys.stdin.buffer:
    sys.stdout.write(repr(line)[1:] + "\n")
