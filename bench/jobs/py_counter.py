"""py_counter.py FILE OUT: word count in one process, sorted."""
import collections
import sys

counts = collections.Counter()
with open(sys.argv[1], encoding="utf-8", errors="surrogateescape") as file:
    for line in file:
        counts.update(line.split())
with open(sys.argv[2], "w", encoding="utf-8", errors="surrogateescape") as out:
    out.writelines(f"{word}\t{counts[word]}\n" for word in sorted(counts))
