"""Word count, counted in Python for many lines at once."""
from collections import Counter

format = "chunks"


def mapfn(text):
    return Counter(text.split())


fold = sum
