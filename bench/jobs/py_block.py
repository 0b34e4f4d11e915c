"""Word count, the words of many lines at once."""
import weft

format = "chunks"


def mapfn(text):
    return text.split()


fold = weft.count
