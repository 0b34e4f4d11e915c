"""How the functions of a job travel to the slots, and how their failures are described.

A function is referred to by one of three rules: importable functions by name; functions of the main file by name, too,
as each slot imports the file, in a script whatever its variables hold; other lambdas, closures and functions of a prompt by value,
with cloudpickle.
"""
import builtins
import json
import os
import sys
import types

from ._slot import Refused

TYPE_CHECKING = False  # as in typing, which slots do not import
if TYPE_CHECKING:
    from typing import Iterable

KINDS = ("map", "sum", "count", "fold", "reduce")  # as python/src/slot/slot.h numbers them
MAIN = "__weft_main__"  # the name of the main file in a slot
ROLES = ("map", "reduce", "fold", "collect", "classes")
BY_VALUE = {"pickle", "code"}  # the kinds of references that hold the function itself
VALUES_BYTES_MAX = 64 << 10  # of them in a word of the command, of which Linux takes 128 KiB
TEXT_BYTES_MAX = 900  # of a failure: the engine cuts longer ones
FRAMES_MAX = 8
SHOWN_MAX = 160  # characters of a record or key

in_slot = False  # this process runs the functions of a job
is_loading = False  # and is about to import them
slot_main = None  # where its main file is, and its name
errors = None  # where exceptions are kept for the process that started the job
is_local = False  # `weft run` imports a script: a server of mincemeat in it needs no clients
has_served = False  # and there was one
options = []  # of `weft run`, from before the script; those after it are in sys.argv
script_name = None  # the module of a script that this process has loaded; no other process can import it
has_source = False  # records are items: of a "source", or of the "stage before"


class Reached(BaseException):
    """weft.run() was reached while a slot imports the main file: the import ends there."""


def begin_run():
    """Called first by everything that runs a job. A slot that imports the main file has seen enough of it; a function of a job may run
    another one."""
    if is_loading:
        raise Reached


class BadJob(Exception):
    """The job cannot be run as it is; the text says why, for people."""


# ---- Functions -------------------------------------------------------------------------------------------------

def find(module, name):
    """The object of that dotted name in a module, or None."""
    for part in name.split("."):
        module = getattr(module, part, None)
    return module


def refer(function, role, main=None, sends_code=False):
    """A reference to the function that load() understands; `main` is the module that each slot will load. With
    `sends_code` it may travel as bare code, too: see weft.mincemeat."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    named = name_in(main, function, name)
    if named:
        return {"main": named}
    known = sys.modules.get(module)
    if known is not None and module not in ("__main__", script_name) and "<" not in name and find(known, name) is function:
        return {"module": module, "name": name}
    if sends_code and hasattr(function, "__code__") and not has_cloudpickle():
        import base64
        import marshal
        from . import py2_names
        return {"code": base64.b64encode(marshal.dumps(function.__code__)).decode(), "name": name, "is_old": py2_names.is_old(function)}
    return {"pickle": pickle_function(function, role)}


def name_in(main, function, name):
    """The name by which the main module knows the function, or None: its own one. In a script also that of a variable, as of a lambda or a
    partial, unless a module that can be imported has made it. A program may give the variable another value for each weft.run()."""
    made_by = getattr(function, "__module__", None)
    known = sys.modules.get(made_by)
    if main is not None and known is main and find(main, name) is function:
        return name
    if main is None or main.__name__ != script_name or (known is not None and name and find(known, name) is function):
        return None
    return next((variable for variable, value in vars(main).items() if value is function), None)


def has_cloudpickle():
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        return False
    return True


def pickle_function(function, role):
    try:
        import cloudpickle
    except ImportError:
        raise BadJob(
            f"{role} {getattr(function, '__qualname__', function)!r} cannot be sent to other processes\n"
            "  it is a lambda, a closure or typed at a prompt, and the package cloudpickle is not installed\n"
            "  try: pip install cloudpickle, or write it with def at the top of a file") from None
    import base64
    from . import pickles
    if script_name is not None and getattr(function, "__module__", None) == script_name:
        cloudpickle.register_pickle_by_value(sys.modules[script_name])
    return base64.b64encode(pickles.dumps_travelling(function, home())).decode()


def home():
    """The module whose classes slots may lack: that of a script which serves its job by itself, or of a prompt or notebook."""
    return script_name or "__main__"


def refer_to_classes():
    """A reference to the classes of a prompt or notebook, for slots that get objects of them; None: there is no cloudpickle."""
    import base64
    from . import pickles
    return {"pickle": base64.b64encode(pickles.dumps_classes(home())).decode()} if has_cloudpickle() else None


def put_aside(references, folder):
    """Moves functions that travel by value, with everything that they refer to, into a file of the folder if they are too large for a word of
    a command. Returns its path, or None."""
    values = {role: reference for role, reference in references.items() if not BY_VALUE.isdisjoint(reference or {})}
    if sum(len(json.dumps(reference)) for reference in values.values()) <= VALUES_BYTES_MAX:
        return None
    path = os.path.join(folder, "functions")
    with open(path, "w") as file:
        json.dump(values, file)
    references.update({role: {"aside": path} for role in values})
    return path


def take_back(job):
    """Reads the functions that put_aside() has moved."""
    for role in ROLES:
        path = (job.get(role) or {}).get("aside")
        if path:
            with open(os.path.join(job["here"], os.path.basename(path)) if job.get("here") else path) as file:
                job[role] = json.load(file)[role]


def resolve(reference):
    if reference is None:
        return None
    if "main" in reference:
        found = find(sys.modules[MAIN], reference["main"])
        if found is None:
            raise BadJob(f"{reference['main']} is not there when the script is imported again\n"
                         "  a slot imports the script: define its functions before weft.run() is called")
        return found
    if "module" in reference:
        import importlib
        return find(importlib.import_module(reference["module"]), reference["name"])
    import base64
    if "code" in reference:
        from .mincemeat import function_of
        return function_of(base64.b64decode(reference["code"]), reference["name"], reference["is_old"])
    import pickle
    return pickle.loads(base64.b64decode(reference["pickle"]))


def parameters_of(function):
    """The names of the parameters that a call must give, or None when they are not known."""
    if isinstance(function, types.FunctionType) and not hasattr(function, "__wrapped__"):
        names = function.__code__.co_varnames[:function.__code__.co_argcount]
        defaults = len(function.__defaults__ or ())
        return names[:len(names) - defaults] if defaults else names
    import inspect  # takes some milliseconds: only for rare cases
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return tuple(one.name for one in found
                 if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD))


def shape_of_map(function):
    """Whether the function wants the name of its input before the record, and emit after it."""
    names = parameters_of(function)
    if names is None:
        return False, False
    passes_emit = bool(names) and names[-1] == "emit"
    count = len(names) - passes_emit
    if count > 2:
        raise BadJob(f"mapfn takes {count} arguments\n  it is called with a record, or with a name and a record; a last "
                     "argument called emit is a function")
    return count == 2, passes_emit


def count(values: "Iterable[int]") -> int:
    """As the fold of a job: mapfn gives keys alone, and each counts one."""
    return builtins.sum(values)


# ---- In a slot ----------------------------------------------------------------------------------------------------

def compile_script(path, names, is_old=False):
    """The code of a script. One of Python 2 is translated, and then has the names of Python 2, too; is_old: it is one."""
    with open(path, "rb") as file:
        source = file.read()
    if is_old or is_beside_old(path) or has_old_names(source):
        return compile_old(source, path, names)
    try:
        return compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        try:
            return compile_old(source, path, names)
        except Exception:
            raise error from None


ONLY_OLD = "basestring", "execfile", "raw_input", "unichr", "unicode", "xrange"
SPEAKS_BOTH = "NameError", "version_info", "PY2", "PY3", "six"  # words of a script for Python 2 and 3


def has_old_names(source):
    """Whether the script uses a name of Python 2 that Python 3 does not have, and that it does not define itself."""
    if not any(name.encode() in source for name in ONLY_OLD) or any(word.encode() in source for word in SPEAKS_BOTH):
        return False
    import ast
    try:
        tree = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        return False  # as compile() says
    used = {node.id for node in tree if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    known = {node.id for node in tree if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    known.update(getattr(node, field) for node in tree for field in ("name", "asname", "arg") if isinstance(getattr(node, field, None), str))
    return "*" not in known and not used.isdisjoint(set(ONLY_OLD) - known)


def is_beside_old(path):
    """Whether the original mincemeat.py is in the folder of the script: that is of Python 2, and so the script is, too."""
    try:
        with open(os.path.join(os.path.dirname(os.path.abspath(path)), "mincemeat.py"), "rb") as file:
            return b"import cPickle" in file.read()
    except OSError:
        return False


def is_server(path):
    """Whether a script imports mincemeat: slots do not import it again, and so it is run as by `python3 SCRIPT`."""
    import re
    try:
        with open(path, "rb") as file:
            return re.search(rb"^[ \t]*(import|from)[ \t]+mincemeat\b", file.read(), re.MULTILINE) is not None
    except OSError:
        return False


def compile_old(source, path, names):
    """The code of a script of Python 2."""
    from . import py2
    text = source.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    translated = compile(py2.tree_of(text, path), path, "exec", dont_inherit=True)
    if not in_slot:
        print(f"weft: {path} is of Python 2: its print statements and the like were translated", file=sys.stderr)
    names.update(py2.NAMES)
    return translated


class Ours:
    """Finds Weft's mincemeat before one beside the script: that is the original, which has a protocol of its own and is of Python 2."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "mincemeat":
            return None
        import importlib.util
        file = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "mincemeat", "__init__.py")
        if not os.path.isfile(file):
            return None
        beside = os.path.join(sys.path[0], "mincemeat.py")
        if not in_slot and os.path.isfile(beside):
            print(f"weft: import mincemeat means that of Weft, not {beside}", file=sys.stderr)
        return importlib.util.spec_from_file_location(name, file)


def prefer_ours():
    if Ours not in sys.meta_path:
        sys.meta_path.insert(0, Ours)


def load_file(path, name):
    """Loads a script as a module of that name."""
    global script_name
    script_name = name
    prefer_ours()
    module = types.ModuleType(name)
    module.__file__ = os.path.abspath(path)
    compiled = compile_script(path, module.__dict__)
    sys.modules[name] = module
    exec(compiled, module.__dict__)
    return module


def load_main(main):
    """The script or main file of the job, under the names that references and pickles know it by."""
    global slot_main
    slot_main = main
    module = types.ModuleType(main["name"])
    for name in (MAIN, main["name"]):
        sys.modules[name] = module
    if main["name"] == "__main__":
        module.__name__ = MAIN  # so that `if __name__ == "__main__"` does not run
    module.__package__ = main.get("package")
    module.__file__ = os.path.abspath(main["path"])
    try:
        exec(compile_script(main["path"], module.__dict__), module.__dict__)
    except Reached:
        pass


def load_json(text, header):
    try:
        return json.loads(text)
    except ValueError as error:
        raise Refused(f"the record is not JSON: {error}") from None


def converter_of(kind):
    """What makes a record of its text; None: the text is the record."""
    if kind == "jsonl":
        return load_json
    if kind == "csv":
        import csv
        csv.field_size_limit(sys.maxsize)
        return lambda text, header: (lambda row: dict(zip(header, row)) if header else row)(next(csv.reader([text])))
    return None


class Items:
    """The slot's side of a source: the number of an item becomes its key and value. `place` says where the values of the
    task's items are (weft.job.Source wrote them): a file, and an offset in it."""

    def __init__(self):
        self.place, self.path, self.file = None, None, -1

    def open(self, place):
        if place[0] != self.path:
            if self.file >= 0:
                os.close(self.file)
            self.path, self.file = place[0], os.open(place[0], os.O_RDONLY)
        offset = int(place[1])
        self.first, count = numbers_of(os.pread(self.file, 16, offset))
        self.sizes = numbers_of(os.pread(self.file, 8 * count, offset + 16))
        self.offset, self.next, self.place = offset + 16 + 8 * count, 0, place

    def seek(self, index):
        if not 0 <= index < len(self.sizes):
            raise SourceError("the value of an item is not there")
        if index < self.next:
            self.open(self.place)
        while self.next < index:
            self.offset += self.sizes[self.next]
            self.next += 1

    def fetch(self, number, place):
        import pickle
        if place != self.place:
            self.open(place)
        index = int(number) - self.first
        self.seek(index)
        payload = b""
        while len(payload) < self.sizes[index]:
            more = os.pread(self.file, self.sizes[index] - len(payload), self.offset + len(payload))
            if not more:
                raise SourceError("the value of an item is cut off")
            payload = payload + more if payload else more
        if payload[:1] == b"\1":
            return pickle.loads(memoryview(payload)[1:])
        raise SourceError(payload[1:].decode("utf-8", "replace"))


def numbers_of(data):
    """Whole numbers of eight bytes each."""
    import struct
    return struct.unpack(f"<{len(data) // 8}Q", data)


class SourceError(Refused):
    """An item of a source could not be read; the text says why."""


def settle(job):
    """Makes a job of another machine one of this: its script is in job["here"], and modules are those of this machine."""
    import site
    by_value = [role for role in ROLES if not BY_VALUE.isdisjoint(job.get(role) or {})]
    theirs = tuple(job["python"])
    if by_value and theirs != sys.version_info[:2]:
        raise BadJob("%s travels by value, which needs the same version of Python everywhere\n  the server has %d.%d, and this "
                     "machine has %d.%d\n  try: def at the top of a script" % (by_value[0], *theirs, *sys.version_info[:2]))
    job["errors"] = None  # a directory there
    package = sys.path[0]
    site.main()  # the interpreter was started without
    job["path"] = [job["here"]] + [entry for entry in sys.path if entry not in ("", package)] + [package]
    if job.get("main"):
        job["main"]["path"] = os.path.join(job["here"], os.path.basename(job["main"]["path"]))


def load(description, capture=None):
    """The arguments of _slot.serve for a job: see python/src/slot/slot.c. With `capture` records are only written there."""
    global is_loading
    is_loading = True
    try:
        return load_job(json.loads(description), capture)
    finally:
        is_loading = False


def load_job(job, capture):
    global in_slot, errors, has_source
    in_slot = True
    take_back(job)
    if job.get("here"):
        settle(job)
    errors = job.get("errors")
    sys.path[:] = job["path"]
    sys.argv[:] = job["argv"]
    prefer_ours()
    if job.get("main"):
        load_main(job["main"])
    elif job.get("home"):
        from . import pickles
        pickles.home_of(job["home"])
    functions = [resolve(job.get(role)) for role in ("map", "reduce", "fold")]
    resolve(job.get("classes"))
    convert = converter_of(job.get("convert"))
    if job.get("collect"):
        from .mincemeat import collecting
        functions[0] = collecting(functions[0], resolve(job["collect"]))
    if job.get("source"):
        has_source = "source"
        convert = Items().fetch
        functions[0] = call_with_item(functions[0], job["wants_name"], job["passes_emit"])
        job["wants_name"] = False
    elif job.get("pairs"):
        from ._slot import pair_of_line
        has_source = "stage before"
        convert = lambda line, header: pair_of_line(line)
        functions[0] = call_with_item(functions[0], job["wants_name"], job["passes_emit"])
        job["wants_name"] = False
    if capture:
        from .debug import keep_record
        functions[0], job["wants_name"], job["passes_emit"] = keep_record(capture), True, False
    return (KINDS.index(job["kind"]), *functions, convert, describe, job["wants_name"], job["passes_emit"],
            job["is_bytes"])


def call_with_item(function, wants_key, passes_emit):
    """The map function of a source: called with a key and a value, or with the value alone."""
    if wants_key and passes_emit:
        return lambda item, emit: function(item[0], item[1], emit)
    if passes_emit:
        return lambda item, emit: function(item[1], emit)
    return (lambda item: function(item[0], item[1])) if wants_key else (lambda item: function(item[1]))


# ---- Failures -----------------------------------------------------------------------------------------------------

def shorten(text, length):
    return text if len(text) <= length else text[:length - 3] + "..."


def without_addresses(text):
    """The text of a failure is the same in every attempt: that is how a bad record is found."""
    if " at 0x" not in text:
        return text
    import re
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def show(value):
    try:
        # repr() of a long int raises.
        return shorten(without_addresses(hex(value) if type(value) is int and value.bit_length() > 10000 else repr(value)), SHOWN_MAX)
    except Exception as error:
        return f"<{type(value).__name__} whose repr() raised {type(error).__name__}>"


def sentence_of(error):
    """The exception, in one line."""
    if isinstance(error, SystemExit):
        return f"called sys.exit({'' if error.code is None else show(error.code)})"
    return shorten(f"raised {name_of(error)}", 300)


def name_of(error):
    """The class of an exception and its text, with notes, in one line; those are user code, and may raise themselves."""
    name = type(error).__name__
    try:
        text = without_addresses(" ".join(" ".join([str(error), *map(str, getattr(error, "__notes__", ()))]).split()))
    except Exception as again:
        text = f"its text raised {type(again).__name__}"
    return f"{name}: {text}" if text else name


def causes_of(error):
    """A line for the exception that it was raised from, if there is one."""
    return [f"  from {shorten(name_of(error.__cause__), 200)}"] if error.__cause__ is not None else []


def frames_of(error):
    """The user's frames of a traceback, as Python prints them; ours and the import system's are left out."""
    import traceback
    own = os.path.dirname(os.path.abspath(__file__)) + os.sep
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not os.path.abspath(frame.filename).startswith(own) and not frame.filename.startswith("<frozen")]
    return [f'  File "{frame.filename}", line {frame.lineno}, in {frame.name}'
            + (f"\n    {frame.line}" if frame.line else "") for frame in frames]


def fit(first, frames, last):
    """The lines of a failure in the room that there is: of many frames the first and the last ones are shown."""
    room = TEXT_BYTES_MAX - len("\n".join([first, *last]).encode("utf-8", "replace"))
    shown = list(frames)
    left_out = 0
    while len(shown) > FRAMES_MAX or (
            len(shown) > 1 and sum(len(frame.encode("utf-8", "replace")) + 1 for frame in shown) + 40 > room):
        del shown[len(shown) // 2 if len(shown) > 2 else 0]
        left_out += 1
    if left_out:
        shown.insert(len(shown) // 2 + len(shown) % 2, f"  ... {left_out} more frames")
    return "\n".join([first, *shown, *last])


def describe(phase, error, where, name, offset):
    """The text of a failed attempt: the exception, the user's frames, and at which record or key."""
    keep_error(error)
    if has_source and name is not None:
        last = [f"  at the item {show(where[0])} of the {has_source}"] if where is not None else []
    elif name is None:
        last = [f"  at the key {show(where)}"] if where is not None else []
    elif where is not None:
        last = [f"  at the record {show(where)}, byte {offset} of {name}"]
    else:
        last = [f"  near byte {offset} of {name}"]
    frames = frames_of(error)
    if isinstance(error, Refused):
        return fit(shorten(without_addresses(str(error)), 500), frames, last)
    return fit(f"{phase} {sentence_of(error)}", frames, causes_of(error) + last)


def keep_error(error):
    """Leaves the exception for the process that started the job: see last_error."""
    if not errors:
        return
    from ._slot import encode
    try:
        data = encode((error,), False)
        with open(os.path.join(errors, f"error-{os.getpid()}.tmp"), "wb") as file:
            file.write(data)
        os.rename(file.name, os.path.join(errors, f"error-{os.getpid()}"))
    except Exception:
        pass  # it cannot be pickled: the text has its traceback


def last_error(folder):
    """The exception of user code that was kept last, or None."""
    from ._slot import decode
    kept = [os.path.join(folder, name) for name in os.listdir(folder)
            if name.startswith("error-") and not name.endswith(".tmp")]
    for path in sorted(kept, key=os.path.getmtime, reverse=True):
        try:
            with open(path, "rb") as file:
                return decode(file.read())[0]
        except Exception:
            continue
    return None


def describe_load(error):
    """Why the code of a job cannot be used in a slot."""
    if isinstance(error, BadJob):
        return str(error)
    if isinstance(error, SyntaxError):
        return describe_syntax(error)
    if isinstance(error, ModuleNotFoundError) and not frames_of(error):
        return f"the code of the job cannot be loaded: {error}"
    return fit(f"the script {sentence_of(error)}", frames_of(error), [])


def describe_syntax(error):
    if error.lineno is None:  # of the file as a whole, such as a zero byte in it
        return f"SyntaxError: {error.msg}"
    line = f"\n    {error.text.strip()}" if error.text else ""
    return f'{error.filename}: {type(error).__name__}: {error.msg}\n  File "{error.filename}", line {error.lineno}{line}'
