"""The Python process of one slot: started by the engine, fed with frames, ended with its input.

User code never sees the engine's pipes: descriptor 0 is empty, and printed text goes to standard error.
"""
import os
import sys


def send_fatal(descriptor, text):
    """Reports that the script cannot be used: trying again cannot help."""
    payload = text.encode("utf-8", "surrogateescape")
    frame = len(payload).to_bytes(4, "little") + b"L" + payload
    while frame:
        frame = frame[os.write(descriptor, frame):]


def take_pipes():
    """Moves the engine's pipes away from 0 and 1; returns them."""
    pipes = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)
    return pipes


def main():
    incoming, outgoing = take_pipes()
    from . import _slot
    description = _slot.read_frame(incoming)
    if description is None:
        os._exit(0)
    from . import code
    try:
        functions = code.load(description, *sys.argv[2:3])
    except BaseException as error:
        send_fatal(outgoing, code.describe_load(error))
        leave(1)
    try:
        _slot.serve(incoming, outgoing, *functions)
    except BaseException:
        # The engine has gone, or a failure could not be described; standard error is read in either case.
        import traceback
        traceback.print_exc()
        leave(1)
    leave(0)


def leave(status):
    """Ends at once: threads that user code left running do not keep the process."""
    import atexit
    try:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)
