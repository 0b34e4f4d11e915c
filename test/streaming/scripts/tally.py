#!/usr/bin/env python3
"""Counts its starts, its lines and its end."""
import sys

print("reporter:counter:Tally,starts,1", file=sys.stderr)
lines = sum(1 for line in sys.stdin)
print(f"reporter:counter:Tally,lines,{lines}", file=sys.stderr)
print("reporter:counter:Tally,ends,1", file=sys.stderr)
