"""`weft replay ID --debug` of a Python job: pdb, where mapfn is called with the record that failed.

A slot first writes the record to a file, instead of calling mapfn; main() then runs in the terminal of the user.
"""
import bdb
import pdb
import pickle
import sys

from . import code


def keep_record(path):
    """What a slot calls instead of mapfn."""
    def keep(name, record):
        with open(path, "wb") as file:
            pickle.dump((name, record), file, 4)
        return []
    return keep


class Debugger(pdb.Pdb):
    """Stops at the first line of one function, and at the user's breakpoints."""

    def __init__(self, function):
        super().__init__()
        while not hasattr(function, "__code__") and hasattr(function, "__func__"):
            function = function.__func__
        self.awaited = getattr(function, "__code__", None)

    def stop_here(self, frame):
        return frame.f_code is self.awaited or super().stop_here(frame)

    def user_call(self, frame, arguments):
        if frame.f_code is not self.awaited:
            super().user_call(frame, arguments)

    def user_line(self, frame):
        if frame.f_code is self.awaited:
            self.awaited = None
        super().user_line(frame)


def show(key, value=None):
    print("  " + code.show(key if value is None else (key, value)))


def call(function, arguments, passes_emit):
    """Calls mapfn as a slot does, and shows its pairs."""
    result = function(*arguments, show) if passes_emit else function(*arguments)
    if passes_emit and result is None:
        return
    for item in result.items() if isinstance(result, dict) else result:
        show(item)


def debug(function, arguments, passes_emit):
    """Calls mapfn in the debugger; returns the exit code."""
    debugger = Debugger(function)
    debugger.reset()
    if debugger.awaited is not None:
        debugger.botframe = sys._getframe()
        debugger.set_continue()
    sys.settrace(debugger.trace_dispatch)
    try:
        call(function, arguments, passes_emit)
    except bdb.BdbQuit:
        return 0
    except BaseException as error:
        sys.settrace(None)
        print(f"weft: mapfn {code.sentence_of(error)}; pdb is where that was")
        debugger.interaction(None, error.__traceback__)
        return 1
    finally:
        sys.settrace(None)
    print("weft: the record did not fail this time")
    return 0


def main(description, record_fd):
    _, function, *_, wants_name, passes_emit, _ = code.load(description)
    with open(int(record_fd), "rb") as file:
        file.seek(0)
        name, record = pickle.load(file)
    print(f"weft: mapfn is called with {code.show(record)} of {name}")
    sys.exit(debug(function, [name, record] if wants_name else [record], passes_emit))
