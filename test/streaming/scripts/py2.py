#!/usr/bin/env python3
# Written for Python 2.
import sys

for line in sys.stdin:
    print line.strip()
