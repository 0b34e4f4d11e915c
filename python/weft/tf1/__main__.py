"""python -m weft.tf1 [--forever] PROGRAM [ARGUMENT...]"""
from __future__ import annotations

import os
import runpy
import sys
import traceback
from typing import List

from . import install, runtime
from .errors import OutOfRangeError

USAGE = "usage: python -m weft.tf1 [--forever] PROGRAM.py [ARGUMENT...]"


def _run(path: str) -> int:
    """The exit code of the program. It finishes the elements that it has dequeued unless it failed."""
    code: object = 0
    try:
        runpy.run_path(path, run_name="__main__")
    except OutOfRangeError:
        pass  # all is done
    except SystemExit as end:
        code = end.code
    except KeyboardInterrupt:
        code = 130
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int) and code is not None:
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    try:
        runtime.end(finishes=not code)
    except KeyboardInterrupt:
        code = code or 130
    return int(code or 0)


def main(arguments: List[str]) -> int:
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if arguments[:1] == ["--forever"]:
        runtime.is_forever = True
        arguments = arguments[1:]
    if not arguments or arguments[0].startswith("-"):
        print(USAGE, file=sys.stderr)
        return 2
    if not os.path.isfile(arguments[0]):
        print(f"weft.tf1: there is no program {arguments[0]}", file=sys.stderr)
        return 4
    sys.argv = arguments
    sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
    install()
    return _run(arguments[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
