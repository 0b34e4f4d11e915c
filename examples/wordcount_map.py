#!/usr/bin/env python3
# Word count as a mapper; wordcount_reduce.py belongs to it.
import sys

for line in sys.stdin:
    for word in line.split():
        print(word, 1, sep="\t")
