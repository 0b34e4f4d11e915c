"""weft.run(): a job from Python, and what scripts with a source or a final need.

The command does the work; this process starts it, shows its progress, hands out the values of a source, and reads
the pairs that came out.
"""
import contextlib
import errno
import json
import os
import sys

from . import _slot, _weft, code
from .code import BadJob
from .script import Job, has_clients, import_path, option_of, starts_clients, words_of
from .travel import files_of, take_files

TYPE_CHECKING = False  # as in typing, which is slow to import
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, Union

READ_BYTES = 1 << 20
TASKS_MAX = 20000  # of a source: with more items a task has several
LINE = "%011d\n"  # of an item in the command's input, as src/run/driver/server/items.h expects it
# What the command says of an item: to it that is a line with a number.
OF_SOURCE = r'map fails on one record of \S*/weft-\w+/(items|stage)( \(.*\))?\n  at offset \d+: ".*" \(\d+ bytes?\)'
KEPT_LINES = 50  # of standard error, for an error that came without an event


class TaskError(_weft.Aborted):
    """User code failed in a task, more often than it may. The text has its traceback, and the record or key.

    `__cause__` is the exception that was raised, where it could be pickled.
    """


TaskError.__module__ = "weft"


class Result:
    """The pairs of a finished job, in the order of their keys; read from disk as they are asked for.

        for key, value in weft.run(map=f, fold=sum, inputs="books/"): ...
        counts = dict(result)
    """

    def __init__(self, path, summary):
        self.summary: "Dict[str, Any]" = summary  # what `weft run --json` reports at the end
        self.counters: "Dict[str, int]" = summary.get("counters", {})
        self.path = path  # of the pairs, for as long as they have a name
        self._output = summary.get("output")
        self._file = open(path, "rb") if path is not None else None

    def fileno(self):
        """The descriptor of the pairs."""
        return self._file.fileno()

    def __len__(self) -> int:
        return self.summary["records_out"]

    def blocks(self):
        """The encoded pairs, some at a time."""
        if self._file is None:
            raise ValueError(f"the pairs are in {self._output}, as text: run() without output= returns them")
        offset = 0
        while True:
            more = os.pread(self._file.fileno(), READ_BYTES, offset)
            if not more:
                break
            offset += len(more)
            yield more

    def __iter__(self) -> "Iterator[Tuple[Any, Any]]":
        rest = b""
        for more in self.blocks():
            pairs, used = _slot.decode_pairs(rest + more)
            rest = (rest + more)[used:]
            yield from pairs
        if rest:
            raise _weft.DataLoss("the pairs of the job are cut off")

    def __repr__(self):
        return f"<weft.Result: {len(self)} pairs>"


class Largest(Result):
    """The pairs with the N largest values, largest first, ties by key."""

    def __init__(self, result, count):
        import heapq
        super().__init__(None, result.summary)
        # The earlier key is the larger of two with the same value.
        ranked = heapq.nlargest(count, ((pair[1], -number, pair[0]) for number, pair in enumerate(result)))
        self._pairs = [(key, value) for value, _, key in ranked]

    def blocks(self):
        raise ValueError("the largest pairs are a list: source=list(result) makes them the input of another job")

    def __len__(self):
        return len(self._pairs)

    def __iter__(self):
        return iter(self._pairs)


# ---- Sources --------------------------------------------------------------------------------------------------------

class Source:
    """Items whose values are read in this process when their task is handed out, by the thread that waits for the job.

    The command asks for the values of some items (src/run/driver/server/items.h); they are written to a file, from which slots
    read them, also those of other machines.
    """

    def __init__(self, items, folder, home=None):
        self.home = home  # the module whose classes slots may lack
        if isinstance(items, (list, tuple)):
            self.keys, self.read = range(len(items)), items.__getitem__
        elif hasattr(items, "__getitem__") and hasattr(items, "__iter__"):
            self.keys, self.read = list(items), items.__getitem__
        else:
            raise BadJob(f"source is {code.show(items)}\n  it is a dict, a list, or an object with __iter__, which gives "
                         "keys, and __getitem__")
        import socket
        self.connection, self.other = socket.socketpair()
        self.path, self.end = os.path.join(folder, "values"), 0
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.names = os.path.join(folder, "items")
        with open(self.names, "w") as file:
            file.writelines(LINE % number for number in range(len(self.keys)))

    def words(self):
        return ["--lines-per-task", str(max(1, -(-len(self.keys) // TASKS_MAX)))]

    def begun(self):
        """The command has been started, and has its end of the connection."""
        self.other.close()

    def answer(self):
        """Answers one request; False when the command has gone."""
        import struct
        request = self.connection.recv(16, 0x100)  # MSG_WAITALL
        if len(request) < 16:
            return False
        first, count = struct.unpack("<2Q", request)
        begin = self.end
        sizes, at = [], begin + 16 + 8 * count
        for key in self.keys[first:first + count]:
            payload = self.payload(key)
            at = self.write(payload, at)
            sizes.append(len(payload))
        self.write(struct.pack(f"<{2 + count}Q", first, count, *sizes, *[0] * (count - len(sizes))), begin)
        self.end = at
        try:
            self.connection.sendall(struct.pack("<2Q", begin, at - begin))
        except OSError:
            return False
        return True

    def payload(self, key):
        import pickle
        try:
            item = key, self.read(key)
            data = pickle.dumps(item, 4)
            if self.home and self.home.encode() in data and code.has_cloudpickle():
                from . import pickles
                data = pickles.dumps_travelling(item, self.home)
            return b"\1" + data
        except Exception as error:
            return b"\0" + code.fit(f"source[{code.show(key)}] {code.sentence_of(error)}", code.frames_of(error),
                                    []).encode("utf-8", "replace")

    def write(self, data, offset):
        """Writes all of it, and returns where that ends."""
        data = memoryview(data)
        while data:
            written = os.pwrite(self.file, data, offset)
            data, offset = data[written:], offset + written
        return offset

    def close(self):
        self.connection.close()
        self.other.close()
        os.close(self.file)


# ---- Running --------------------------------------------------------------------------------------------------------

def find_command():
    """The command that belongs to this package: of its build tree or environment, else the one in PATH."""
    import shutil
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.join(here, "..", "..", "weft"), os.path.join(os.path.dirname(sys.executable), "weft"),
              os.path.join(here, "..", "..", "..", "..", "bin", "weft"), shutil.which("weft")]
    for place in places:
        if place and os.path.isfile(place) and os.access(place, os.X_OK):
            return os.path.realpath(place)
    raise BadJob("the command weft was not found\n  try: pip install ., or put it into PATH")


def main_file():
    """The main module and how slots find it; (None, None) at a prompt, in a notebook and with -c."""
    if code.in_slot:
        return (sys.modules[code.MAIN], code.slot_main) if code.slot_main else (None, None)
    main = sys.modules.get("__main__")
    path = getattr(main, "__file__", None)
    if path is None or not os.path.isfile(path) or hasattr(sys, "ps1"):
        return None, None
    return main, {"path": os.path.abspath(path), "name": "__main__", **package_of(main)}


def package_of(main):
    """The package of a main module that was started by `python -m`, and the directory that it is in; nothing for one without."""
    package = getattr(main, "__package__", None)
    if not package:
        return {}
    root = os.path.abspath(main.__file__)
    for _ in range(package.count(".") + 2):
        root = os.path.dirname(root)
    return {"package": package, "root": root}


CLIENT_EVENTS = frozenset(["joined", "left", "lost", "aside", "silent", "back"])  # docs/json.md


class Talk:
    """What the command says: events drive the bar, the rest is the user's and is passed on."""

    def __init__(self, progress, join=None, may_join=True):
        self.may_join = may_join
        self.join = join  # the command for clients; None: as the command says it
        self.shows = sys.stderr.isatty() or "ipykernel" in sys.modules if progress is None else progress
        self.end, self.lines, self.rest, self.width = None, [], b"", 0

    def bar(self, text):
        if self.shows:
            sys.stderr.write("\r" + text.ljust(self.width) + ("\r" if not text else ""))
            sys.stderr.flush()
            self.width = len(text)

    def event(self, event):
        kind = event["event"]
        if kind == "end" or kind == "error":
            self.bar("")
            self.end = event
        elif kind == "progress":
            self.bar(f"{event['step']}: {event['tasks_done']} of {event['task_count']} tasks")
        elif kind == "start" and "join" in event and self.may_join:
            print("join by:", self.join or event["join"], file=sys.stderr, flush=True)
        elif kind == "warning" or kind in CLIENT_EVENTS:
            self.bar("")
            print("weft:", event["text"], file=sys.stderr, flush=True)

    def take(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b'{"event":'):
                try:
                    self.event(json.loads(line))
                    continue
                except ValueError:
                    pass
            text = line.decode("utf-8", "replace")
            self.lines = (self.lines + [text])[-KEPT_LINES:]
            print(text, file=sys.stderr)

    def last_words(self):
        return "\n".join(self.lines) or "the command weft ended without a word"


def write_stage(result, path, mark):
    """The pairs of a finished job as the input of another. Returns whether the mark is in them."""
    rest, is_marked = b"", False
    with open(path, "wb") as file:
        for more in result.blocks():
            lines, used = _slot.pairs_to_lines(rest + more)
            rest = (rest + more)[used:]
            is_marked = is_marked or mark in lines
            file.write(lines)
    if rest:
        raise _weft.DataLoss("the pairs of the job are cut off")
    return is_marked


def serve(process, talk, source):
    """Waits for the command; in the meantime reads its messages and answers its slots."""
    import selectors
    with selectors.DefaultSelector() as selector:
        selector.register(process.stderr, selectors.EVENT_READ)
        if source:
            selector.register(source.connection, selectors.EVENT_READ)
        is_open = True
        while is_open:
            for ready, _ in selector.select():
                if ready.fileobj is process.stderr:
                    data = os.read(process.stderr.fileno(), READ_BYTES)
                    is_open = bool(data)
                    talk.take(data)
                elif not source.answer():
                    selector.unregister(ready.fileobj)
        talk.take(b"\n" if talk.rest else b"")


@contextlib.contextmanager
def passing_signal_on(process, words):
    """A launcher that could not start any client (src/cli/run_on.h) sends its signal to this process; the server is its child."""
    import signal
    import threading
    is_free = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGUSR2) is signal.SIG_DFL
    if not option_of(words, "--listen") or not is_free:
        yield
        return
    signal.signal(signal.SIGUSR2, lambda number, frame: process.send_signal(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR2, signal.SIG_DFL)


def raise_failure(talk, folder, status):
    """The failure of the job as an exception, with the one of user code as its cause; `exit_code` is that of the command."""
    import re
    text = (talk.end or {}).get("error") or (talk.end or {}).get("text") or talk.last_words()
    text = re.sub(OF_SOURCE, lambda found: "map fails on one item of the "
                  + ("source" if found[1] == "items" else "stage before") + (found[2] or ""), text)
    name = (talk.end or {}).get("code", "UNKNOWN")
    classes = {cls.code_name: cls for cls in vars(_weft).values()
               if isinstance(cls, type) and issubclass(cls, _weft.Error) and cls is not _weft.Error}
    cause = code.last_error(folder)
    cls = TaskError if cause is not None or name == "ABORTED" else classes.get(name, _weft.Unknown)
    error = cls(text)
    error.exit_code = status if status > 0 else 1
    raise error from cause


def execute(job, words, *, main_module, first_path, source=None, stage=None, collect=None, is_written=False, path=None,
            progress=None, token=None, join=None, folder=None):
    """Runs the job and returns its Result. `words` are options and inputs of the command; is_written: --output is one.

    `token` is that of clients, and `join` how these are started, where the words have --listen.
    `stage` is the Result of a job whose pairs are the input. The pairs are in a file without a name, or in `path`, which is then the caller's.
    The source is read in `folder`, where there is one.
    """
    import shutil
    import subprocess
    import tempfile
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    private = tempfile.mkdtemp(prefix="weft-", dir=option_of(words, "--tmp"))
    items = None
    try:
        items = Source(source, private, code.home() if job.main is None else None) if source is not None else None
        given, classes = [items.names] if items else [], None
        if stage is not None:
            given = [os.path.join(private, "stage")]
            if write_stage(stage, given[0], code.home().encode()) and job.main is None:
                classes = code.refer_to_classes()
        description = job.describe(main_module, import_path(package, first_path), errors=private,
                                   source=items is not None, pairs=stage is not None,
                                   collect=collect, classes=classes, folder=private)
        if path is None and not is_written:
            path = os.path.join(private, "pairs")
        more, words = take_files(words)
        scripts = files_of(job.main, first_path, has_clients(words)) + ([job.aside] if job.aside else []) + more
        arguments = [find_command(), "run", "--json", *(items.words() if items else []),
                     *words_of(job, package=package, description=description, scripts=scripts,
                               is_typed=not is_written, has_source=bool(given),
                               values=f"{items.other.fileno()}:{items.path}" if items else None),
                     *(["--output", path] if path else []), *given, *words]
        talk = Talk(progress, join, not starts_clients(words))
        try:
            process = subprocess.Popen(arguments, stdin=None if "-" in words else subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       env={**os.environ, "WEFT_TOKEN": token} if token else None,
                                       pass_fds=[items.other.fileno()] if items else [])
        except OSError as error:
            if error.errno != errno.E2BIG:
                raise
            raise BadJob("the inputs and options are too long for a command\n"
                         "  try: inputs=\"@names.txt\", a file with a name in each line, or a pattern") from None
        try:
            if folder:
                os.chdir(folder)
            if items:
                items.begun()
            with passing_signal_on(process, words):
                serve(process, talk, items)
                status = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        if status == 130:
            raise KeyboardInterrupt
        if status or not talk.end or not talk.end.get("ok"):
            raise_failure(talk, private, status)
        return Result(path, talk.end)
    finally:
        if items:
            items.close()
        shutil.rmtree(private, ignore_errors=True)


def option_words(options):
    """slots=2, skip_missing=True, file=["a", "b"] -> --slots 2 --skip-missing --file a --file b"""
    words = []
    for name, values in options.items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            if value is None or value is False:
                continue
            words.append("--" + name.replace("_", "-"))
            if value is not True:
                words.append(str(value))
    return words


def input_words(inputs):
    if inputs is None:
        return []
    words = [os.fspath(inputs)] if isinstance(inputs, (str, os.PathLike)) else [os.fspath(name) for name in inputs]
    if not words:
        raise BadJob("there are no inputs")
    return ["--", *words]


def run(map: "Callable[..., Any]", *, fold: "Optional[Callable[[Any], Any]]" = None, reduce: "Optional[Callable[[Any, Any], Any]]" = None,
        inputs: "Union[str, os.PathLike[str], Iterable[Union[str, os.PathLike[str]]], Result, None]" = None,
        source: "Union[Mapping[Any, Any], Sequence[Any], Any]" = None, output: "Union[str, os.PathLike[str], None]" = None,
        format: "Optional[str]" = None, encoding: "Optional[str]" = "utf-8", progress: "Optional[bool]" = None, **options: "Any") -> Result:
    """Runs a MapReduce job on all cores and returns its pairs, sorted by key.

    `map(record)` yields pairs, or returns a list or dict of them. `fold(values)` joins the values of a key to one, and is
    also used to combine: sum, min, max, or weft.count for a map that gives keys alone. `reduce(key, values)` yields
    pairs instead. Without either the pairs of map are the result.

    `inputs` are files, directories and patterns, or the result of another run, whose pairs become the arguments of
    `map(key, value)`; or `source` is a dict or list, read when a task needs it. With
    `output` the result is written as text to that file, or directory with a slash at its end. Other options are those of
    `weft run`: slots=2, memory="1G", skip_bad=10, top=20.

        result = weft.run(map=lambda line: line.split(), fold=weft.count, inputs="books/")
        print(dict(result)["the"])

    A function of a job may run another one; that has one slot unless it asks for more.
    """
    code.begin_run()
    if code.in_slot:
        options.setdefault("slots", 1)  # each slot may come here
    try:
        if (inputs is None) == (source is None):
            raise BadJob("a job has inputs= or source=")
        stage = inputs if isinstance(inputs, Result) else None
        top = options.pop("top", None) if output is None else None
        main_module, main = main_file()
        if main_module is not None:
            sys.modules[code.MAIN] = main_module  # where the classes of what comes back are
        job = Job(map=map, fold=fold, reduce=reduce, encoding=None if stage is not None else encoding, format=format,
                  main=main, has_source=source is not None or stage is not None)
        output = os.fspath(output) if output is not None else None
        words = [*option_words({"output": output, "format": format, **options}), *input_words(None if stage is not None else inputs)]
        first = main.get("root") or os.path.dirname(main["path"]) if main else os.getcwd()
        result = execute(job, words, main_module=main_module, first_path=first, source=source, stage=stage,
                         is_written=output is not None, progress=progress)
        return result if top is None else Largest(result, int(top))
    except BadJob as error:
        raise _weft.InvalidArgument(str(error)) from None
