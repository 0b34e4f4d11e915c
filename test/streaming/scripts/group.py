#!/usr/bin/env python3
# Shows how keys arrive: a line per stretch of equal keys with its values, sorted, as their order is open.
import itertools
import sys

pairs = (line.rstrip("\n").partition("\t") for line in sys.stdin)
for key, group in itertools.groupby(pairs, lambda pair: pair[0]):
    print("[%s]\t%s" % (key, ",".join(sorted(pair[2] for pair in group))))
