#!/usr/bin/env python3
# Writes much to standard error before it reads.
import sys

for i in range(20000):
    sys.stderr.write("noise %d\n" % i)
for line in sys.stdin:
    sys.stdout.write(line)
