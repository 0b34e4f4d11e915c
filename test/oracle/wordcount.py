"""Word count by the definition itself: bytes.split(). Reads stdin, prints word TAB count."""
import sys

counts = {}
for word in sys.stdin.buffer.read().split():
    counts[word] = counts.get(word, 0) + 1
for word in sorted(counts):
    sys.stdout.buffer.write(b"%s\t%d\n" % (word, counts[word]))
