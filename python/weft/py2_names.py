"""What a translated script of Python 2 calls (py2_tree.py): print, str() and % that show values as Python 2 does, files and texts of any bytes, and functions that
Python 3 does not have."""
import codecs
import functools
import io
import math
import os
import string
import sys

METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys", "has_key": "__contains__", "next": "__next__"}
LISTS = {"keys", "values", "items"}
HASHES = {"md5", "sha1", "sha224", "sha256", "sha384", "sha512"}


# ---- Values as texts ------------------------------------------------------------------------------------------------------

def to_bytes(text):
    """A text as the bytes that it was."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def to_text(data):
    return data.decode("utf-8", "surrogateescape")


def to_str(value):
    """str(value): floats have 12 digits, and texts inside of lists are shown as bytes."""
    if type(value) is float:
        text = "%.12g" % value
        return text if text.strip("-0123456789") else text + ".0"
    return to_repr(value) if type(value) in SHOWN else str(value)


def to_repr(value, above=()):
    kind = type(value)
    if kind is str:
        return repr(to_bytes(value))[1:]
    if kind is int:
        return repr(value) + "L" * (not -sys.maxsize <= value <= sys.maxsize)
    if kind not in SHOWN:
        return repr(value)
    if id(value) in above:
        return "..."
    above = (*above, id(value))
    if kind is dict:
        return "{" + ", ".join(f"{to_repr(key, above)}: {to_repr(one, above)}" for key, one in value.items()) + "}"
    before, after = SHOWN[kind]
    inside = ", ".join(to_repr(one, above) for one in value)
    return before + inside + ("," if kind is tuple and len(value) == 1 else "") + after


SHOWN = {tuple: ("(", ")"), list: ("[", "]"), set: ("set([", "])"), frozenset: ("frozenset([", "])"), dict: None}


class Float(float):
    """For % and format(), which show it as str() does."""

    def __str__(self):
        return to_str(float(self))

    __repr__ = float.__repr__


class Text(str):
    def __repr__(self):
        return to_repr(str(self))


class Shown:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return to_repr(self.value)

    __repr__ = __str__


def shown(value):
    kind = type(value)
    return Float(value) if kind is float else Text(value) if kind is str else Shown(value) if kind in SHOWN else value


def fill(text, values):
    """text % values"""
    if type(values) is dict:
        return text % {key: shown(value) for key, value in values.items()}
    return text % (tuple(map(shown, values)) if type(values) is tuple else shown(values))


def write(*values, sep=" ", end="\n", file=None, more=False):
    """print; `more`: a comma was at its end. The next text then begins with a space, unless this one ends with a tab or the like."""
    file = file or sys.stdout
    for number, value in enumerate(values):
        text = to_str(value)
        file.write((sep if number else " " * getattr(file, "softspace", False)) + text)
        note(file, more and not (type(value) is str and text[-1:].isspace() and text[-1:] != " "))
    if not more:
        file.write(end)
        note(file, False)


def note(file, is_soft):
    try:
        file.softspace = is_soft
    except AttributeError:
        pass  # an object that has no room for it


def end_line():
    """As Python 2 does at its end."""
    if getattr(sys.stdout, "softspace", False):
        sys.stdout.write("\n")
        note(sys.stdout, False)


# ---- Methods of texts, and the module string ----------------------------------------------------------------------------------

def encode(text, encoding="ascii", errors="strict"):
    if codecs.lookup(encoding).name in ("utf-8", "ascii"):
        return text
    try:
        return to_text(text.encode(encoding, errors))
    except LookupError:  # from bytes to bytes, such as hex
        return to_text(codecs.encode(to_bytes(text), encoding))


def decode(text, encoding="ascii", errors="strict"):
    try:
        return to_bytes(text).decode(encoding, errors)
    except LookupError:
        return to_text(codecs.decode(to_bytes(text), encoding))


def translate(text, table=None, deleted=""):
    return text.translate({ord(one): None for one in deleted}).translate(table or {})


TEXTS = {"encode": encode, "decode": decode, "translate": translate}
STRINGS = {"letters": string.ascii_letters, "lowercase": string.ascii_lowercase, "uppercase": string.ascii_uppercase, "maketrans": str.maketrans,
           "join": lambda words, separator=" ": separator.join(words),
           **{name: (lambda name: lambda text, *more: getattr(text, name)(*more))(name)
              for name in ("lower", "upper", "split", "strip", "lstrip", "rstrip", "replace", "find", "count")}}


def method(found, name):
    """A method that Python 3 does not have, or has otherwise."""
    if isinstance(found, str) and name in TEXTS:
        return functools.partial(TEXTS[name], found)
    if name == "update" and hasattr(found, "hexdigest"):
        return lambda text: found.update(to_bytes(text))
    return getattr(found, name) if hasattr(found, name) else getattr(found, METHODS.get(name, name))


def call_for_list(found, name):
    """keys(), values() and items() of a dict are lists."""
    got = getattr(found, name)()
    return list(got) if isinstance(found, dict) else got


# ---- Files -------------------------------------------------------------------------------------------------------------

class Writer(io.BufferedWriter):
    """A file of bytes that takes texts, too."""

    def write(self, data):
        return super().write(to_bytes(data))


def open_as_bytes(name, mode="r", buffering=-1):
    """A text of any bytes: those that are not UTF-8 come out as they went in."""
    if "b" in mode and "r" not in mode and "+" not in mode:
        return Writer(io.FileIO(name, mode.replace("b", "")))
    if "b" in mode:
        return open(name, mode, buffering)
    return open(name, mode.replace("U", ""), buffering, encoding="utf-8", errors="surrogateescape", newline=None if "U" in mode else "\n")


def file_of_text(file):
    """What the csv module reads."""
    if not isinstance(file, io.BufferedReader):
        return file
    file.text = io.TextIOWrapper(file, encoding="utf-8", errors="surrogateescape", newline="")
    return file.text


def file_of_bytes(file):
    """Where pickles are."""
    if isinstance(file, io.TextIOWrapper):
        file.flush()
    return getattr(file, "buffer", file)


def execfile(path, names):
    from . import py2, travel
    travel.executed.append(os.path.abspath(path))
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        exec(compile(py2.tree_of(file.read().replace("\r\n", "\n"), path), path, "exec", dont_inherit=True), names)


# ---- Numbers and lists ---------------------------------------------------------------------------------------------------

def divide(one, other):
    return one // other if isinstance(one, int) and isinstance(other, int) else one / other


def round_away(number, digits=0):
    return round(number, digits) if digits else math.copysign(math.floor(abs(number) + 0.5), number)


def compare(one, other):
    return (one > other) - (one < other)


def sort(values, cmp=None, key=None, reverse=False):
    return sorted(values, key=functools.cmp_to_key(cmp) if cmp else key, reverse=reverse)


NAMES = {"xrange": range, "unicode": str, "raw_input": input, "long": int, "basestring": str, "unichr": chr, "reduce": functools.reduce, "cmp": compare,
         "sorted": sort, "open": open_as_bytes, "file": open_as_bytes, "round": round_away, "print": write,
         "range": lambda *all: list(range(*all)), "zip": lambda *all: list(zip(*all)),
         "map": lambda function, *all: list(map(function, *all) if function else all[0]),
         "filter": lambda function, all: "".join(filter(function, all)) if isinstance(all, str) else list(filter(function, all)),
         "_py2_divide": divide, "_py2_method": method, "_py2_list": call_for_list, "_py2_encode": to_bytes, "_py2_str": to_str, "_py2_repr": to_repr,
         "_py2_fill": fill, "_py2_shown": shown, "_py2_string": STRINGS.__getitem__, "_py2_file_of_text": file_of_text,
         "_py2_file_of_bytes": file_of_bytes, "_py2_execfile": execfile}
for name in "range", "zip", "map", "filter":
    NAMES[name].__module__, NAMES[name].__qualname__ = __name__, "NAMES_" + name
    globals()["NAMES_" + name] = NAMES[name]  # pickled functions name it so


def is_old(function):
    """Whether a function is of a script that was translated."""
    return getattr(function, "__globals__", {}).get("_py2_divide") is divide
