"""Word count without a fold: every pair travels, and reducefn gets the list of a word's values."""


def mapfn(line):
    for word in line.split():
        yield word, 1


def reducefn(word, counts):
    yield word, sum(counts)
