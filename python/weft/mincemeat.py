"""Scripts of mincemeat.py as they are: `import mincemeat` has the same names.

    s = mincemeat.Server()
    s.datasource, s.mapfn, s.reducefn = dict(enumerate(lines)), mapfn, reducefn
    results = s.run_server(password="changeme")

run_server() works with all cores of this machine, and needs no clients. Functions travel by value, as there: with
cloudpickle, or where that is missing as bare code, which sees the modules below.
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
NO_CLIENTS = ("this version has no clients of mincemeat\n  Server.run_server() works with all cores of its own machine, without "
              "clients; it cannot be joined from others, nor by the original mincemeat.py")


class Server:
    """A job: `datasource` (a dict, a list, or an object with __iter__ and __getitem__), `mapfn(key, value)`,
    `reducefn(key, values)`, and if wanted `collectfn(key, values)`, which joins the values of one map task."""

    def __init__(self):
        self.datasource = self.mapfn = self.reducefn = self.collectfn = None

    def run_server(self, password="", port=DEFAULT_PORT):
        """Runs the job and returns its results, a dict. Password and port are for clients, of which there are none."""
        from . import job as engine
        from .script import Job
        if code.in_slot:
            raise code.Reached
        try:
            for name in "datasource", "mapfn", "reducefn":
                if getattr(self, name) is None:
                    raise BadJob(f"the Server has no {name}")
            job = Job(map=self.mapfn, reduce=self.reducefn, has_source=True, sends_code=True)
            main = getattr(sys.modules.get("__main__"), "__file__", None)
            first = os.path.dirname(os.path.abspath(main)) if main else os.getcwd()
            collect = code.refer(self.collectfn, "collectfn", sends_code=True) if self.collectfn is not None else None
            return dict(engine.execute(job, [], main_module=None, first_path=first, source=self.datasource, collect=collect))
        except BadJob as error:
            raise _weft.InvalidArgument(str(error)) from None


class Client:
    """A client joins a server of another process in mincemeat.py. Here conn() says that there is nothing to join."""

    def __init__(self):
        self.password = None

    def conn(self, server, port):
        raise _weft.Unimplemented(NO_CLIENTS)


def collecting(function, collect):
    """The map function of a job with collectfn: one value for each key of a task."""
    def grouped(key, value):
        groups = {}
        for name, one in function(key, value):
            groups.setdefault(name, []).append(one)
        return [(name, collect(name, values)) for name, values in groups.items()]
    return grouped


def function_of(data, name):
    """A function of bare code, whose globals are the names of this module: as in a client of mincemeat.py."""
    return types.FunctionType(marshal.loads(data), dict(globals()), name)


def run_client():
    """The command mincemeat.py, with its options."""
    import argparse
    parser = argparse.ArgumentParser(prog="mincemeat.py")
    parser.add_argument("-p", "--password", default="")
    parser.add_argument("-P", "--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("-v", "--verbose", action="store_true")
    parser.add_argument("-V", "--loud", action="store_true")
    parser.add_argument("--version", action="version", version=f"mincemeat.py {VERSION} by Weft {_weft.version()}")
    parser.add_argument("server", nargs="?", default="localhost")
    words = parser.parse_args()
    client = Client()
    client.password = words.password
    try:
        client.conn(words.server, words.port)
    except _weft.Unimplemented as error:
        print(f"weft: {error}", file=sys.stderr)
        sys.exit(2)
