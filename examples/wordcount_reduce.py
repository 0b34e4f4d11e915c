#!/usr/bin/env python3
# Word count as a reducer, or a combiner: the lines of a word come one after the other.
import itertools
import sys

pairs = (line.rstrip("\n").split("\t") for line in sys.stdin)
for word, group in itertools.groupby(pairs, key=lambda pair: pair[0]):
    print(word, sum(int(count) for _, count in group), sep="\t")
