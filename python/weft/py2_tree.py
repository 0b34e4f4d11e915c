"""The meaning of a script of Python 2, as a tree that Python 3 runs: ints divided by ints are ints, `keys()`, `zip()` and the like are lists, parameters may be
tuples, and files have any bytes."""
import ast
import functools
import sys

MARK = "_py2_parameters_"  # then the text of parameters that stand for one
METHODS = {"iteritems": "items", "itervalues": "values", "iterkeys": "keys", "has_key": "__contains__", "next": "__next__"}
LISTS = {"keys", "values", "items"}
HASHES = {"md5", "sha1", "sha224", "sha256", "sha384", "sha512"}


# ---- What the tree calls ----------------------------------------------------------------------------------------------

def divide(one, other):
    return one // other if isinstance(one, int) and isinstance(other, int) else one / other


def method(found, name):
    """A method that Python 3 calls otherwise."""
    return getattr(found, name) if hasattr(found, name) else getattr(found, METHODS[name])


def call_for_list(found, name):
    """keys(), values() and items() of a dict are lists."""
    got = getattr(found, name)()
    return list(got) if isinstance(found, dict) else got


def encode(text):
    """A text as the bytes that it was."""
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def open_as_bytes(name, mode="r", buffering=-1):
    """A text of any bytes: those that are not UTF-8 come out as they went in."""
    if "b" in mode:
        return open(name, mode, buffering)
    return open(name, mode.replace("U", ""), buffering, encoding="utf-8", errors="surrogateescape", newline=None if "U" in mode else "\n")


def compare(one, other):
    return (one > other) - (one < other)


def sort(values, cmp=None, key=None, reverse=False):
    return sorted(values, key=functools.cmp_to_key(cmp) if cmp else key, reverse=reverse)


NAMES = {"xrange": range, "unicode": str, "raw_input": input, "long": int, "basestring": str, "unichr": chr, "reduce": functools.reduce, "cmp": compare,
         "sorted": sort, "open": open_as_bytes, "file": open_as_bytes,
         "zip": lambda *all: list(zip(*all)), "map": lambda function, *all: list(map(function, *all) if function else all[0]),
         "filter": lambda function, all: "".join(filter(function, all)) if isinstance(all, str) else list(filter(function, all)),
         "_py2_divide": divide, "_py2_method": method, "_py2_list": call_for_list, "_py2_encode": encode}
for name in "zip", "map", "filter":
    NAMES[name].__module__, NAMES[name].__qualname__ = __name__, "NAMES_" + name
    globals()["NAMES_" + name] = NAMES[name]  # pickled functions name it so


def is_old(function):
    """Whether a function is of a script that was translated."""
    return getattr(function, "__globals__", {}).get("_py2_divide") is divide


# ---- The tree --------------------------------------------------------------------------------------------------------

def call(name, *arguments):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


def parameters_of(name):
    """The tuple that a parameter stands for, or None."""
    if not name.startswith(MARK):
        return None
    return ast.parse(f"({bytes.fromhex(name[len(MARK):]).decode()},)", mode="eval").body


def names_of(target):
    for part in target.elts:
        yield from names_of(part) if isinstance(part, ast.Tuple) else [part.id]


class Meaning(ast.NodeTransformer):
    def __init__(self, divides):
        self.divides = divides

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return call("_py2_divide", node.left, node.right) if self.divides and isinstance(node.op, ast.Div) else node

    def visit_AugAssign(self, node):
        self.generic_visit(node)
        if not self.divides or not isinstance(node.op, ast.Div):
            return node
        now = ast.parse(ast.unparse(node.target), mode="eval").body
        return ast.Assign([node.target], call("_py2_divide", now, node.value))

    def visit_Call(self, node):
        self.generic_visit(node)
        found = node.func
        if not isinstance(found, ast.Attribute):
            return node
        if isinstance(found.value, ast.Name) and found.value.id == "hashlib" and found.attr in HASHES:
            node.args = [call("_py2_encode", one) for one in node.args]
        elif found.attr in METHODS:
            node.func = call("_py2_method", found.value, ast.Constant(found.attr))
        elif found.attr in LISTS and not node.args and not node.keywords:
            return call("_py2_list", found.value, ast.Constant(found.attr))
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if node.attr == "maxint" and isinstance(node.value, ast.Name) and node.value.id == "sys":
            node.attr = "maxsize"
        return node

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        first = []
        for one in node.args.args:
            tuple_of = parameters_of(one.arg)
            if tuple_of:
                ast_store(tuple_of)
                first.append(ast.Assign([tuple_of], ast.Name(one.arg, ast.Load())))
        node.body[:0] = first
        return node

    # lambda (a, b): x -> lambda t: (lambda a, b: x)(a, b of t)
    def visit_Lambda(self, node):
        self.generic_visit(node)
        for one in node.args.args:
            tuple_of = parameters_of(one.arg)
            if tuple_of:
                names = list(names_of(tuple_of))
                inner = ast.Lambda(ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, []), node.body)
                # [f(a, b) for a, b in [t]][0], in a scope of its own
                ast_store(tuple_of)
                each = ast.comprehension(tuple_of, ast.List([ast.Name(one.arg, ast.Load())], ast.Load()), [], 0)
                taken = ast.ListComp(ast.Call(inner, [ast.Name(name, ast.Load()) for name in names], []), [each])
                node.body = ast.Subscript(taken, ast.Constant(0), ast.Load())
        return node


def ast_store(target):
    for part in ast.walk(target):
        if isinstance(part, (ast.Tuple, ast.Name)):
            part.ctx = ast.Store()


def settle(source, path):
    """The tree of a text that Python 3 can read."""
    tree = ast.parse(source, path)
    is_new = any(isinstance(part, ast.ImportFrom) and part.module == "__future__" and any(one.name == "division" for one in part.names)
                 for part in tree.body)
    for stream in sys.stdout, sys.stderr:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="surrogateescape")
    return ast.fix_missing_locations(Meaning(not is_new).visit(tree))
