#!/usr/bin/env python3
# Counts with reporter lines, some of which are no counters.
import sys

for line in sys.stdin:
    sys.stderr.write("reporter:counter:Words,%s,1\n" % line.split()[0])
    sys.stderr.write("reporter:counter:Words,all,%d\n" % len(line.split()))
    sys.stderr.write("reporter:status:at %s" % line)
    sys.stderr.write("an ordinary line\n")
    sys.stdout.write(line)
sys.stderr.write("reporter:counter:Words,broken\n")
sys.stderr.write("reporter:counter:Words,broken,many\n")
sys.stderr.write("reporter:counter:Words,broken,1,2\n")
sys.stderr.write("reporter:counter:Words,less,-3\n")
sys.stderr.write("reporter:nonsense\n")
sys.stderr.write("reporter:counter:Words,last,5")
