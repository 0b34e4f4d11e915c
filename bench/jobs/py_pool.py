"""py_pool.py FILE OUT: word count by two processes, each of which returns the counts of an eighth of the file."""
import collections
import multiprocessing
import os
import sys

PIECES = 8


def count(piece):
    path, begin, end = piece
    with open(path, "rb") as file:
        file.seek(begin)
        text = file.read(end - begin).decode("utf-8", "surrogateescape")
    counts = collections.Counter()
    for line in text.splitlines():
        counts.update(line.split())
    return counts


def pieces(path):
    size, cuts = os.path.getsize(path), [0]
    with open(path, "rb") as file:
        for number in range(1, PIECES):
            file.seek(size * number // PIECES)
            file.readline()
            cuts.append(file.tell())
    return [(path, begin, end) for begin, end in zip(cuts, cuts[1:] + [size])]


if __name__ == "__main__":
    counts = collections.Counter()
    with multiprocessing.Pool(2) as pool:
        for part in pool.imap_unordered(count, pieces(sys.argv[1])):
            counts.update(part)
    with open(sys.argv[2], "w", encoding="utf-8", errors="surrogateescape") as out:
        out.writelines(f"{word}\t{counts[word]}\n" for word in sorted(counts))
