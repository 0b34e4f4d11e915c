"""The meaning of a script of Python 2, as a tree that Python 3 runs: ints divided by ints are ints, `keys()`, `zip()` and the like are lists, parameters may be
tuples, modules have other names. What the tree calls is in py2_names.py."""
import ast
import atexit
import sys

from .py2_names import HASHES, LISTS, METHODS, STRINGS, TEXTS, end_line

MARK = "_py2_parameters_"  # then the text of parameters that stand for one
MODULES = {"cPickle": "pickle", "cStringIO": "io", "StringIO": "io", "Queue": "queue", "ConfigParser": "configparser", "HTMLParser": "html.parser",
           "urllib2": "urllib.request", "urlparse": "urllib.parse", "__builtin__": "builtins"}
TAKES_FILE = {("pickle", "load"): (0, "_py2_file_of_bytes"), ("cPickle", "load"): (0, "_py2_file_of_bytes"),
              ("pickle", "dump"): (1, "_py2_file_of_bytes"), ("cPickle", "dump"): (1, "_py2_file_of_bytes"),
              ("csv", "reader"): (0, "_py2_file_of_text"), ("csv", "DictReader"): (0, "_py2_file_of_text")}


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
        if isinstance(node.op, ast.Mod) and is_text(node.left):
            return call("_py2_fill", node.left, node.right)
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
        if isinstance(found, ast.Name):
            return self.visit_named_call(node, found.id)
        if not isinstance(found, ast.Attribute):
            return node
        module = found.value.id if isinstance(found.value, ast.Name) else None
        index, takes = TAKES_FILE.get((module, found.attr), (0, None))
        if module == "hashlib" and found.attr in HASHES:
            node.args = [call("_py2_encode", one) for one in node.args]
        elif takes and len(node.args) > index:
            node.args[index] = call(takes, node.args[index])
        elif found.attr == "format" and is_text(found.value):
            node.args = [one if isinstance(one, ast.Starred) else call("_py2_shown", one) for one in node.args]
            for one in node.keywords:
                one.value = call("_py2_shown", one.value) if one.arg else one.value
        elif found.attr in METHODS or found.attr in TEXTS or found.attr == "update":
            node.func = call("_py2_method", found.value, ast.Constant(found.attr))
        elif found.attr in LISTS and not node.args and not node.keywords:
            return call("_py2_list", found.value, ast.Constant(found.attr))
        return node

    @staticmethod
    def visit_named_call(node, name):
        if name in ("str", "repr") and len(node.args) == 1 and not node.keywords:
            node.func.id = "_py2_" + name
        elif name == "execfile" and len(node.args) == 1:
            return call("_py2_execfile", node.args[0], call("globals"))
        return node

    def visit_Attribute(self, node):
        self.generic_visit(node)
        module = node.value.id if isinstance(node.value, ast.Name) else None
        if module == "sys" and node.attr == "maxint":
            node.attr = "maxsize"
        if module == "string" and node.attr in STRINGS:
            return call("_py2_string", ast.Constant(node.attr))
        return node

    def visit_Import(self, node):
        for one in node.names:
            if one.name in MODULES:
                one.asname, one.name = one.asname or one.name, MODULES[one.name]
        return node

    def visit_ImportFrom(self, node):
        node.module = node.module if node.level else MODULES.get(node.module, node.module)
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


def is_text(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


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
    atexit.unregister(end_line)
    atexit.register(end_line)
    return ast.fix_missing_locations(Meaning(not is_new).visit(tree))
