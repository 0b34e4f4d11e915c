"""`weft run SCRIPT.py`: a script with mapfn, and fold or reducefn, becomes a job.

The command starts Python with this module; the script is imported, the job it means is found, and this process becomes
the command again, with that job. Only a script with a source or a final keeps this process: its values are read, and
its results are given to final, here.
"""
import contextlib
import errno
import json
import os
import sys

from . import _slot, code
from .code import BadJob
from .travel import files_of, take_files

is_ending = False  # by a signal

def fail(script, text, words, name="FAILED_PRECONDITION", status=1):
    """Prints an error as the command does, and ends; mostly with 1: the script is the user's."""
    report(f"cannot run {script}\n  {text}" if "\n" not in text else f"cannot run {script}\n" + indent(text), name, words)
    sys.exit(status)


def report(text, name, words):
    """Prints an error as the command does."""
    if "--json" in words:
        print(json.dumps({"event": "error", "code": name, "text": text}), file=sys.stderr)
    else:
        print(f"weft: {text}", file=sys.stderr)


def indent(text):
    return "\n".join("  " + line for line in text.split("\n"))


class Job:
    """What a script or a call of weft.run() means: functions and how they are called."""

    def __init__(self, *, map, fold=None, reduce=None, encoding="utf-8", format=None, main=None,
                 has_source=False, sends_code=False):
        if not callable(map):
            raise BadJob(f"mapfn is {code.show(map)}, not a function")
        if fold is not None and reduce is not None:
            raise BadJob("there are a fold and a reducefn\n  fold(values) joins the values of a key to one; reducefn(key, "
                         "values) yields pairs: a job has one of them")
        for name, function in ("fold", fold), ("reducefn", reduce):
            if function is not None and not callable(function):
                raise BadJob(f"{name} is {code.show(function)}, not a function")
        self.map, self.fold, self.reduce, self.format, self.main = map, fold, reduce, format, main
        self.sends_code = sends_code
        self.is_bytes = is_bytes(encoding)
        if has_source and format is not None:
            raise BadJob("there are a source and a format\n  the items of a source are records as they are")
        self.wants_name, self.passes_emit = code.shape_of_map(map)
        self.kind = ("count" if fold is sum and map is _slot.words else "sum" if fold is sum else "count" if fold is code.count else "fold" if fold is not None
                     else "reduce" if reduce is not None else "map")

    def convert(self):
        """The name of the conversion of records: of csv and jsonl."""
        name = (self.format or "").split(":")[0]
        return name if name in ("csv", "jsonl") else None

    def describe(self, main_module, path, folder=None, collect=None, classes=None, **more):
        """The text that each slot is given. Functions that are too large for it go into the folder."""
        refer = {role: code.refer(function, role, main_module, self.sends_code) if function is not None else None
                 for role, function in (("map", self.map), ("reduce", self.reduce), ("fold", self.fold))}
        refer.update(collect=collect, classes=classes)
        self.aside = code.put_aside(refer, folder) if folder else None
        return json.dumps({"kind": self.kind, "main": self.main, "path": path, "argv": sys.argv, "python": sys.version_info[:2], **refer,
                           "wants_name": self.wants_name, "passes_emit": self.passes_emit, "is_bytes": self.is_bytes,
                           "convert": self.convert(), "home": code.home(), **more})


def is_bytes(encoding):
    if encoding is None:
        return True
    if str(encoding).lower().replace("_", "-") in ("utf-8", "utf8"):
        return False
    raise BadJob(f"encoding is {encoding!r}\n  it is 'utf-8', or None for bytes, which mapfn may decode")


def words_of(job, *, package, description, scripts, is_typed=False, has_source=False, values=None):
    """The words of the command for the job, up to its inputs."""
    kind = job.kind + (",typed" if is_typed else "")
    words = ["@python", "-K", kind, "-P", sys.executable, "-L", package]
    for script in scripts:
        words += ["-S", script]
    if has_source:
        words.append("-Q")
    if values:
        words += ["-V", values]
    return words + ["-J", description]


def import_path(package, first):
    """sys.path as a slot is to have it: the script's folder first, our package at least last."""
    return [first] + [entry for entry in sys.path if entry not in ("", package, first)] + [package]


def load_script(path, is_local=True):
    """Imports a script. A server of mincemeat in it runs its job at once: on this machine, unless there are to be clients."""
    code.is_local = is_local
    stem = os.path.splitext(os.path.basename(path))[0]
    return code.load_file(path, "__main__" if code.is_server(path) else stem)


def option_of(words, name):
    """The value of a long option among the words of the command; None: it is not there."""
    words = words[:words.index("--")] if "--" in words else words
    values = [word[len(name) + 1:] for word in words if word.startswith(name + "=")]
    values += [value for word, value in zip(words, words[1:]) if word == name]
    return values[-1] if values else None


def job_of_module(module, path, words):
    final = getattr(module, "final", None)
    if final is not None and not callable(final):
        raise BadJob(f"final is {code.show(final)}, not a function")
    mapfn = getattr(module, "mapfn", None)
    if mapfn is None:
        other = own_function(module, "map", "mapper", "map_fn")
        raise BadJob(f"it has no mapfn\n  try: rename {other} to mapfn" if other else
                     "it has no mapfn\n  try: def mapfn(line): for word in line.split(): yield word, 1")
    other = own_function(module, "reduce", "reducer", "reduce_fn", "reduce_function")
    if other and not hasattr(module, "reducefn") and not hasattr(module, "fold"):
        print(f"weft: {path} has no reducefn and no fold: its {other}() is not called", file=sys.stderr)
    return Job(map=mapfn, fold=getattr(module, "fold", None), reduce=getattr(module, "reducefn", None),
               encoding=getattr(module, "encoding", "utf-8"), format=option_of(words, "--format") or getattr(module, "format", None),
               main={"path": path, "name": module.__name__}, has_source=hasattr(module, "source"))


def own_function(module, *names):
    """The first of the names that is a function of the script itself, or None."""
    return next((name for name in names if getattr(getattr(module, name, None), "__module__", None) == module.__name__), None)


def has_clients(words):
    """Whether the words of a command make it a server, whose clients join or are started on other machines."""
    return option_of(words, "--listen") is not None or starts_clients(words)


def starts_clients(words):
    """Whether the words of a command make it start clients on other machines."""
    return (option_of(words, "--on") or "local:") != "local:"


def format_words(job, words):
    return [f"--format={job.format}"] if job.format and option_of(words, "--format") is None else []


def flush():
    """What the script has printed; it may have closed its standard output."""
    for stream in sys.stdout, sys.stderr:
        if stream is not None and not stream.closed:
            stream.flush()


def become(command, job, module, package, words):
    """The job needs this process no more: it becomes the command."""
    description = job.describe(module, sys.path)
    more, words = take_files(words)
    arguments = [command, "run", *format_words(job, words),
                 *words_of(job, package=package, description=description, scripts=files_of(job.main, sys.path[0], has_clients(words)) + more), *words]
    flush()
    os.execv(command, arguments)


def stay(job, module, words, folder):
    """The job has a source or a final, which are for this process; they run in the folder. Returns the exit code."""
    from . import _weft, job as engine
    from .kept import Kept
    final = getattr(module, "final", None)
    kept = Kept(job.main["path"]) if final is not None else None
    path = kept.new_path() if kept else None
    is_written = any(word.startswith(("-o", "--output=")) or word == "--output" for word in words)
    if is_written and final is not None:
        raise BadJob("there are a final, which gets the results, and --output\n  try: without one of them")
    words = [*format_words(job, words), *words]
    end_by_signals()
    top, words = take_top(words) if not is_written else (None, words)
    try:
        result = engine.execute(job, words, main_module=module, first_path=sys.path[0],
                                source=getattr(module, "source", None), is_written=is_written, path=path, folder=folder)
    except _weft.Error as error:
        report(str(error), error.code_name, words)
        return getattr(error, "exit_code", 1)
    except KeyboardInterrupt:
        return 130
    if path:
        kept.take(result)
    if top:
        result = engine.Largest(result, top)
    return 0 if is_written else print_all(result) if final is None else hand_over(result, final, kept, job.main["path"])


def end_by_signals():
    """SIGTERM and SIGHUP end this process by way of its finally clauses, which stop the command and remove files. Not where the script
    has handlers of its own."""
    import signal

    def end(number, frame):
        global is_ending
        is_ending = True
        signal.signal(number, signal.SIG_IGN)
        sys.exit(128 + number)

    for number in signal.SIGTERM, signal.SIGHUP:
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def take_top(words):
    """(N, the other words) of --top N or --top=N; the pairs are not yet text when this process gets them."""
    for at, word in enumerate(words):
        if word == "--top" and words[at + 1:at + 2] or word.startswith("--top="):
            number = words[at + 1] if word == "--top" else word[6:]
            if not number.isdigit() or not int(number):
                raise BadJob(f"--top {number} is not a number of pairs")
            return int(number), words[:at] + words[at + (2 if word == "--top" else 1):]
    return None, words


def print_all(result):
    """The results where the script has no final: the text that the command prints. Returns the exit code."""
    key = None
    try:
        for key, value in result:
            sys.stdout.buffer.write(_slot.show_pair(key, value))
        flush()
        return 0
    except BrokenPipeError:  # its reader has seen enough
        status = 0
    except OSError as error:
        status = say(f"cannot write standard output: {os.strerror(error.errno).lower()}", 5 if error.errno == errno.ENOSPC else 1)
    except Exception as error:
        return say(f"{error}\n  at the key {code.show(key)}", 1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the text that is still buffered
    return status


def say(text, status):
    print(f"weft: {text}", file=sys.stderr)
    return status


def hand_over(result, final, kept, script):
    """Calls final for each key, in order; then nothing is kept any more. Returns the exit code."""
    from .kept import offer
    for key, value in result:
        try:
            final(key, value)
        except BaseException as error:
            if is_ending:
                raise
            with contextlib.suppress(Exception):
                flush()
            return say(code.fit(f"final {code.sentence_of(error)}", code.frames_of(error),
                                [f"  at the key {code.show(key)}", *offer(script)]), 130 if isinstance(error, KeyboardInterrupt) else 1)
    flush()
    kept.drop(result)
    return 0


def finish(module, script, words, folder):
    """`weft run --final SCRIPT`: the kept results go to final, and nothing else runs. Returns the exit code, or None:
    there are no results."""
    from .kept import Kept
    final = getattr(module, "final", None)
    if final is None:
        raise BadJob("it has no final\n  try: def final(key, value): print(key, value)")
    others = [word for word in words if word not in ("--final", "--quiet", "-q", "--json", "--no-color")]
    if others:
        raise BadJob(f"with --final there is no job, and nothing to do with {others[0]}")
    kept = Kept(script)
    result = kept.open()
    os.chdir(folder)
    return None if result is None else hand_over(result, final, kept, script)


def run_job(command, job, module, package, words, folder):
    """Runs the job of the script and returns the exit code, unless this process becomes the command."""
    if not hasattr(module, "source") and not hasattr(module, "final"):
        become(command, job, module, package, words)
    return stay(job, module, words, folder)


def main():
    """Called by the command: sys.argv is -c, the command, our package's folder or "", the script, how many of the words that follow are
    options of the command from before the script, and all words."""
    command, _, script, count, *words = sys.argv[1:]
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code.options, own = words[:int(count)], words[int(count):]
    sys.argv[:] = [script, *(own[1:] if own[:1] == ["--"] else own)]
    folder = os.path.dirname(os.path.abspath(script))
    sys.path[:] = import_path(package, folder)
    here = os.getcwd()
    try:
        module = load_script(script, not has_clients(words))
        # The words of the command are names in its directory, whichever the script has chosen for itself.
        chosen = os.getcwd()
        os.chdir(here)
        if code.has_served:
            status = 0
        elif "--final" in words:
            status = finish(module, script, words, chosen)
        else:
            status = run_job(command, job_of_module(module, script, words), module, package, words, chosen)
    except BaseException as error:
        if isinstance(error, SystemExit) and is_ending:
            raise
        if hasattr(error, "exit_code"):  # of a job that the script has run by itself
            report(str(error), error.code_name, words)
            sys.exit(error.exit_code)
        fail(script, code.describe_load(error), words)
    if status is None:
        fail(script, f"no results are kept for its final: no job has run, or final has had them all\ntry: weft run {script}",
             words, name="NOT_FOUND", status=4)
    sys.exit(status)
