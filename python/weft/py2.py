"""Scripts of Python 2, translated as far as old scripts of octo.py and mincemeat.py need it. Lines keep their numbers.

Here the text is changed until Python 3 can read it: print statements, `except E, name`, `raise E, text`, `lambda (a, b): ...`, `1L`, `0777`, `<>`.
The meaning is then changed in the tree of that text (py2_tree.py): the division of ints, lists where Python 3 has iterators.

    python -m weft.py2 example.py ARGUMENT...
"""
import io
import os
import re
import sys
import tokenize

from .py2_names import NAMES, end_line  # noqa: F401
from .py2_tree import MARK, settle


def statements(tokens):
    """The tokens of each simple statement, without its end."""
    found, depth, is_lambda = [], 0, False
    for token in tokens:
        if token.type in (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING):
            continue
        if token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) or (token.string == ";" and depth == 0):
            if found:
                yield found
            found, is_lambda = [], False
            continue
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0
        is_lambda = is_lambda or token.string == "lambda"
        found.append(token)
        if token.string == ":" and depth == 0 and not is_lambda and found[0].string in HEADS:
            yield found
            found = []


HEADS = {"if", "elif", "else", "for", "while", "try", "except", "finally", "with", "def", "class"}


def commas(tokens):
    """The indices of the commas that are not inside brackets."""
    depth = 0
    for index, token in enumerate(tokens):
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
            if token.string == "," and depth == 0:
                yield index


def edit_print(tokens, edits):
    """print a, b -> print(a, b); print >>f, a -> print(a, file=f); print a, -> print(a, more=True)"""
    name, rest = tokens[0], tokens[1:]
    more = ""
    if rest and rest[0].string == ">>":
        comma = next(commas(rest), None)
        last = rest[comma] if comma is not None else rest[-1]
        stop = last.end
        target = text_between(rest[0].end, last.start if comma is not None else stop, rest[0].line)
        edits.append((rest[0].start, stop, ""))
        more, rest = f"file={target.strip()}", rest[comma + 1:] if comma is not None else []
    edits.append((name.end, name.end, "("))
    if rest and rest[-1].string == ",":
        more = ", ".join(filter(None, [more, "more=True"]))
        edits.append((rest[-1].start, rest[-1].end, f", {more})"))
    else:
        end = rest[-1].end if rest else tokens[-1].end
        edits.append((end, end, (", " if rest and more else "") + more + ")"))


def text_between(start, end, line):
    return line[start[1]:end[1]]


def edit_except(tokens, edits):
    comma = next(commas(tokens), None)
    if comma is not None and tokens[-1].string == ":":
        edits.append((tokens[comma].start, tokens[comma].end, " as"))


def edit_raise(tokens, edits):
    comma = next(commas(tokens), None)
    if comma is not None:
        edits.append((tokens[comma].start, tokens[comma].end, "("))
        edits.append((tokens[-1].end, tokens[-1].end, ")"))


def edit_words(tokens, edits):
    """1L -> 1; 0777 -> 0o777; <> -> !=; parameters in brackets -> a name that stands for them, which py2_tree takes apart again"""
    depth, opened = 0, []  # of brackets, and at which depth parameters are looked for
    for index, token in enumerate(tokens):
        before, after = tokens[index - 1] if index else None, tokens[index + 1] if index + 1 < len(tokens) else None
        if token.string == "lambda":
            opened.append(depth)
        elif token.string == "def":
            opened.append(depth + 1)
        elif opened and opened[-1] == depth and (token.string == ":" or (token.string == ")" and depth)):
            opened.pop()
        if token.string == "(" and opened and opened[-1] == depth and before.string in ("lambda", ",", "("):
            stop = closing(tokens, index)
            text = "".join(one.string for one in tokens[index + 1:stop])
            if re.fullmatch(r"[\w,()]+", text) and token.start[0] == tokens[stop].end[0]:
                edits.append((token.start, tokens[stop].end, MARK + text.encode().hex()))
        if token.type == tokenize.NUMBER and after and after.start == token.end and after.string in ("L", "l"):
            edits.append((after.start, after.end, ""))
        if token.string == "0" and after and after.type == tokenize.NUMBER and after.start == token.end:
            edits.append((token.end, token.end, "o"))
        if token.string == "<>" or (token.string == "<" and after and after.string == ">" and after.start == token.end):
            edits.append((token.start, token.end if token.string == "<>" else after.end, "!="))
        depth += (token.string in "([{") - (token.string in ")]}") if token.type == tokenize.OP else 0


def closing(tokens, index):
    """The index of the bracket that closes the one at hand."""
    depth = 0
    for at in range(index, len(tokens)):
        depth += (tokens[at].string in "([{") - (tokens[at].string in ")]}") if tokens[at].type == tokenize.OP else 0
        if depth == 0:
            return at
    return len(tokens) - 1


def tree_of(source, path):
    """The tree of a script of Python 2."""
    return settle(translate(source), path)


def translate(source):
    """The source as Python 3; raises SyntaxError or tokenize.TokenError where it cannot even be cut into words."""
    edits = []
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for found in statements(tokens):
        edit_words(found, edits)
        word = found[0].string
        is_name = len(found) > 1 and found[1].string in ("=", ".")
        if word == "print" and not is_name:
            edit_print(found, edits)
        elif word == "except":
            edit_except(found, edits)
        elif word == "raise":
            edit_raise(found, edits)
    lines = source.split("\n")
    lines = [line + "\n" for line in lines[:-1]] + lines[-1:]
    for order, (start, end, text) in sorted(enumerate(edits), key=lambda one: (one[1][0], one[0]), reverse=True):
        if start[0] != end[0]:
            continue  # a target over several lines: left alone
        row = lines[start[0] - 1]
        lines[start[0] - 1] = row[:start[1]] + text + row[end[1]:]
    return "".join(lines)


def main():
    import types
    from . import code
    if len(sys.argv) < 2:
        sys.exit("usage: python -m weft.py2 SCRIPT [ARGUMENT...]")
    del sys.argv[0]
    module = types.ModuleType("__main__")
    module.__file__ = sys.argv[0]
    sys.modules["__main__"] = module
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    code.prefer_ours()
    exec(code.compile_script(sys.argv[0], module.__dict__, is_old=True), module.__dict__)


if __name__ == "__main__":
    main()
