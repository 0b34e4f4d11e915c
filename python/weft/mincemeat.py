"""Scripts of mincemeat.py as they are: `import mincemeat` has the same names.

    s = mincemeat.Server()
    s.datasource, s.mapfn, s.reducefn = dict(enumerate(lines)), mapfn, reducefn
    results = s.run_server(password="changeme")

run_server() waits for clients, which do the work: `mincemeat.py -p changeme HOST`. `weft run SCRIPT` runs the script with
all cores of its machine instead, without clients. Functions travel by value, as there: with cloudpickle, or where that is
missing as bare code, which sees the modules below.
"""
import hashlib
import hmac
import logging
import marshal
import os
import pickle
import random
import socket
import sys
import types

from . import _weft, code
from .code import BadJob

VERSION = "0.1.4"  # of the interface
DEFAULT_PORT = 11235
ROUNDS = 200_000  # that make guessing a password slow
EXAMPLES = """examples:
  python3 example.py               the server: s.run_server(password="changeme") waits for clients
  mincemeat.py -p changeme big     a client, on each core of its machine
  weft run example.py              without clients, on all cores of this machine"""


def token_of(password):
    """The token of Weft that a password stands for, on both sides."""
    return hashlib.pbkdf2_hmac("sha256", str(password).encode("utf-8", "surrogateescape"), b"weft mincemeat", ROUNDS).hex()


class Server:
    """A job: `datasource` (a dict, a list, or an object with __iter__ and __getitem__), `mapfn(key, value)`,
    `reducefn(key, values)`, and if wanted `collectfn(key, values)`, which joins the values of one map task."""

    def __init__(self):
        self.datasource = self.mapfn = self.reducefn = self.collectfn = None

    def run_server(self, password="", port=DEFAULT_PORT):
        """Runs the job on the clients that join, and returns its results, a dict. Without a password only clients of this
        machine can."""
        from . import job as engine
        from .script import Job
        code.begin_run()
        try:
            for name in "datasource", "mapfn", "reducefn":
                if getattr(self, name) is None:
                    raise BadJob(f"the Server has no {name}")
            job = Job(map=self.mapfn, reduce=self.reducefn, has_source=True, sends_code=True)
            main = getattr(sys.modules.get("__main__"), "__file__", None)
            first = os.path.dirname(os.path.abspath(main)) if main else os.getcwd()
            collect = code.refer(self.collectfn, "collectfn", sends_code=True) if self.collectfn is not None else None
            code.has_served = True
            if code.in_slot:
                words, more = ["--slots", "1"], {}  # a function of a job runs another one: clients wait for this one
            else:
                words, more = ([], {}) if code.is_local else listen(password, port)
                words = options() + words
            return dict(engine.execute(job, words, main_module=None, first_path=first, source=self.datasource, collect=collect,
                                       **more))
        except BadJob as error:
            raise _weft.InvalidArgument(str(error)) from None


def options():
    """Those of the command that has started the script: slots, memory and the like."""
    for word in code.options:
        if word.split("=")[0] in ("--output", "--top", "--final", "--format"):
            raise BadJob(f"{word} is not for a script with a server of mincemeat: its run_server() returns the results")
    return [word for word in code.options if not word.startswith("--listen")]


def listen(password, port):
    """The words of the command for a server, and the arguments of weft.job.execute()."""
    if not password:
        return ["--listen", f"localhost:{port}"], {"token": token_of(password), "join": f"mincemeat.py -P {port} localhost"}
    return ["--listen", f":{port}"], {"token": token_of(password),
                                      "join": f"mincemeat.py -p PASSWORD -P {port} {socket.gethostname()}"}


class Client:
    """A client of a server: conn() works for its job, and returns when that has ended."""

    def __init__(self):
        self.password = None

    def conn(self, server, port, *options):
        """Raises weft.Unavailable when there is no server, weft.Unauthenticated with another password, and weft.Aborted when
        this machine could not work."""
        import subprocess
        from .job import find_command
        ran = subprocess.run([find_command(), "client", "--quiet", *options, "--", f"{server}:{port}"], stdin=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True,
                             env={**os.environ, "WEFT_TOKEN": token_of(self.password or ""), "WEFT_PYTHON": sys.executable})
        errors = {2: _weft.InvalidArgument, 3: _weft.Unavailable, 5: _weft.Unauthenticated}
        text = ran.stderr.strip()
        if ran.returncode in (130, -2):
            raise KeyboardInterrupt
        if ran.returncode == 5 and not options:
            raise _weft.Unauthenticated(f"{server}:{port} has another password\n  try: -p with that of its run_server()")
        if ran.returncode:
            raise errors.get(ran.returncode, _weft.Aborted)(text[len("weft: "):] if text.startswith("weft: ") else text)
        if text:
            print(text, file=sys.stderr)


def collecting(function, collect):
    """The map function of a job with collectfn: one value for each key of a task."""
    def grouped(key, value):
        groups = {}
        for name, one in function(key, value):
            groups.setdefault(name, []).append(one)
        return [(name, collect(name, values)) for name, values in groups.items()]
    return grouped


def function_of(data, name, is_old):
    """A function of bare code, whose globals are the names of this module: as in a client of mincemeat.py. is_old: and those of Python 2."""
    from . import py2
    return types.FunctionType(marshal.loads(data), {**(py2.NAMES if is_old else {}), **globals()}, name)


def run_client():
    """The command mincemeat.py, with its options."""
    import argparse
    parser = argparse.ArgumentParser(prog="mincemeat.py", description="Works for a server of mincemeat, and ends with its job.",
                                     formatter_class=argparse.RawDescriptionHelpFormatter, epilog=EXAMPLES)
    parser.add_argument("-p", "--password", default="", help="that of its run_server()")
    parser.add_argument("-P", "--port", type=int, default=DEFAULT_PORT, help="(default: %(default)s)")
    parser.add_argument("-v", "--verbose", action="store_true", help="for old command lines: without effect")
    parser.add_argument("-V", "--loud", action="store_true", help="for old command lines: without effect")
    parser.add_argument("--version", action="version", version=f"mincemeat.py {VERSION} by Weft {_weft.version()}")
    parser.add_argument("server", nargs="?", default="localhost", help="the machine of the server (default: %(default)s)")
    words = parser.parse_args()
    client = Client()
    client.password = words.password
    try:
        client.conn(words.server, words.port)
    except KeyboardInterrupt:
        sys.exit(130)
    except _weft.Error as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.exit({"INVALID_ARGUMENT": 2, "UNAVAILABLE": 3, "UNAUTHENTICATED": 5}.get(error.code_name, 1))
