#!/usr/bin/env python3
# A mapper for weft run --keep --map examples/wordcount_keep.py --reduce aggregate FILE...
import sys

for line in sys.stdin:
    if line == "\x1e\n":  # the end of a task: answer, and wait for the next one
        print("\x1e", flush=True)
        continue
    for word in line.split():
        print("LongValueSum:" + word, 1, sep="\t")
