"""Word count, one pair at a time."""


def mapfn(line):
    for word in line.split():
        yield word, 1


fold = sum
