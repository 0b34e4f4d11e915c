"""`weft run SCRIPT.py`: a script with mapfn, and fold or reducefn, becomes a job.

The command starts Python with this module; the script is imported, the job it means is found, and this process becomes
the command again, with that job. Nothing of Python stays in between.
"""
import json
import os
import sys

from . import code
from .code import BadJob


def fail(script, text, words):
    """Prints an error as the command does, and ends with 1: the script is the user's."""
    text = f"cannot run {script}\n  {text}" if "\n" not in text else f"cannot run {script}\n" + indent(text)
    if "--json" in words:
        print(json.dumps({"event": "error", "code": "FAILED_PRECONDITION", "text": text}), file=sys.stderr)
    else:
        print(f"weft: {text}", file=sys.stderr)
    sys.exit(1)


def indent(text):
    return "\n".join("  " + line for line in text.split("\n"))


class Job:
    """What a script or a call of weft.run() means: functions and how they are called."""

    def __init__(self, *, map, fold=None, reduce=None, encoding="utf-8", format=None, main=None):
        if not callable(map):
            raise BadJob(f"mapfn is {code.show(map)}, not a function")
        if fold is not None and reduce is not None:
            raise BadJob("there are a fold and a reducefn\n  fold(values) joins the values of a key to one; reducefn(key, "
                         "values) yields pairs: a job has one of them")
        for name, function in ("fold", fold), ("reducefn", reduce):
            if function is not None and not callable(function):
                raise BadJob(f"{name} is {code.show(function)}, not a function")
        self.map, self.fold, self.reduce, self.format, self.main = map, fold, reduce, format, main
        self.is_bytes = is_bytes(encoding)
        self.wants_name, self.passes_emit = code.shape_of_map(map)
        self.kind = ("sum" if fold is sum else "count" if fold is code.count else "fold" if fold is not None
                     else "reduce" if reduce is not None else "map")

    def convert(self):
        """The name of the conversion of records: of csv and jsonl."""
        name = (self.format or "").split(":")[0]
        return name if name in ("csv", "jsonl") else None

    def describe(self, main_module, path):
        """The text that each slot is given."""
        refer = {role: code.refer(function, role, main_module) if function is not None else None
                 for role, function in (("map", self.map), ("reduce", self.reduce), ("fold", self.fold))}
        return json.dumps({"kind": self.kind, "main": self.main, "path": path, "argv": sys.argv, **refer,
                           "wants_name": self.wants_name, "passes_emit": self.passes_emit, "is_bytes": self.is_bytes,
                           "convert": self.convert()})


def is_bytes(encoding):
    if encoding is None:
        return True
    if str(encoding).lower().replace("_", "-") in ("utf-8", "utf8"):
        return False
    raise BadJob(f"encoding is {encoding!r}\n  it is 'utf-8', or None for bytes, which mapfn may decode")


def words_of(job, *, package, description, scripts, is_typed=False):
    """The words of the command for the job, up to its inputs."""
    kind = job.kind + (",typed" if is_typed else "")
    words = ["@python", "-K", kind, "-P", sys.executable, "-L", package]
    for script in scripts:
        words += ["-S", script]
    return words + ["-J", description]


def import_path(package, first):
    """sys.path as a slot is to have it: the script's folder first, our package at least last."""
    return [first] + [entry for entry in sys.path if entry not in ("", package, first)] + [package]


def load_script(path):
    stem = os.path.splitext(os.path.basename(path))[0]
    return code.load_file(path, stem)


def job_of_module(module, path):
    mapfn = getattr(module, "mapfn", None)
    if mapfn is None:
        raise BadJob("it has no mapfn\n  try: def mapfn(line): for word in line.split(): yield word, 1")
    return Job(map=mapfn, fold=getattr(module, "fold", None), reduce=getattr(module, "reducefn", None),
               encoding=getattr(module, "encoding", "utf-8"), format=getattr(module, "format", None),
               main={"path": path, "name": module.__name__})


def main():
    """Called by the command: sys.argv is -c, the command, our package's folder or "", the script, other words."""
    command, _, script, *words = sys.argv[1:]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sys.argv[:] = [script, *words]
    folder = os.path.dirname(os.path.abspath(script))
    sys.path[:] = import_path(package, folder)
    try:
        module = load_script(script)
        job = job_of_module(module, script)
        description = job.describe(module, sys.path)
    except BaseException as error:
        fail(script, code.describe_load(error), words)
    format_words = ["--format", job.format] if job.format and "--format" not in words else []
    arguments = [command, "run", *format_words,
                 *words_of(job, package=package, description=description, scripts=[script]), *words]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command, arguments)
