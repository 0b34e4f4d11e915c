"""weft tasks worker|call|dead: the commands of a task queue; the same as python -m weft.tasks."""
from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import traceback
from typing import Any, List, Optional

import weft

from .app import App
from .text import dumps, loads
from .worker import Crew, Worker, end_with_parent, find_app


def _parse(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weft tasks", description="Runs and calls the tasks of a Python module; docs/coming-from-celery.md.")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    worker = verbs.add_parser("worker", help="run the tasks of a module until SIGTERM or Ctrl-C")
    worker.add_argument("module", help="MODULE or MODULE:NAME of the app")
    worker.add_argument("-c", "--concurrency", type=int, default=os.cpu_count(), help="how many processes (default: one for each core)")
    worker.add_argument("--broker", help="the host, instead of the one in the module")
    worker.add_argument("-q", "--quiet", action="store_true", help="do not report failures and retries")
    call = verbs.add_parser("call", help="call a task and print its result as JSON")
    call.add_argument("module", help="MODULE or MODULE:NAME of the app")
    call.add_argument("task", help="its name, with or without the module")
    call.add_argument("arguments", nargs="*", help="in JSON; a word that is not JSON is a text")
    call.add_argument("--timeout", type=float, help="seconds to wait for the result")
    call.add_argument("--broker", help="the host, instead of the one in the module")
    dead = verbs.add_parser("dead", help="list the tasks that failed for good")
    dead.add_argument("module", help="MODULE or MODULE:NAME of the app")
    dead.add_argument("--retry", action="store_true", help="send them again")
    dead.add_argument("--broker", help="the host, instead of the one in the module")
    return parser.parse_args(arguments)


def _find(options: argparse.Namespace) -> App:
    app = find_app(options.module)
    app.broker = options.broker or app.broker
    return app


def run_worker(options: argparse.Namespace) -> int:
    if options.concurrency < 1:
        print("weft: --concurrency is at least 1", file=sys.stderr)
        return 2
    app = _find(options)  # so that a wrong module is reported once
    if options.concurrency > 1:
        command = [sys.executable, "-m", "weft.tasks", "worker", options.module, "-c", "1"]
        command += ["--broker", options.broker] if options.broker else []
        crew = Crew(command + (["-q"] if options.quiet else []), options.concurrency)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, crew.stop)
        return crew.watch()
    log = None if options.quiet else lambda text: print(f"weft: {text}", file=sys.stderr, flush=True)
    worker = Worker(app, log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)
    end_with_parent()
    worker.work()
    return 0


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def run_call(options: argparse.Namespace) -> int:
    app = _find(options)
    known = [name for name in app.tasks if name == options.task or name.endswith("." + options.task)]
    if len(known) != 1:
        print(f"weft: {options.module} has {'no' if not known else 'several'} {options.task}; it has "
              f"{', '.join(sorted(app.tasks))}", file=sys.stderr)
        return 4
    try:
        print(dumps(app.tasks[known[0]].delay(*map(_read, options.arguments)).get(options.timeout)))
    except weft.Error:
        raise
    except Exception as error:
        print(f"weft: {known[0]} failed: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    finally:
        app.close()
    return 0


def run_dead(options: argparse.Namespace) -> int:
    app = _find(options)
    letters = []
    while True:
        item = app._dead().take_now()
        if item is None:
            break
        letters.append(item)
    for item in letters:
        letter = loads(item.data)
        error = letter.pop("error", {})
        print(dumps(letter), f"{error.get('type', '')}: {error.get('message', '')}", sep="\t")
        if options.retry and "task" in letter:
            letter.pop("at", None)
            letter["sent_again"] = letter.get("sent_again", 0) + 1
            app._queue().push(dumps(letter))
            item.done()
    letters.clear()
    app.close()
    return 0


def main(arguments: Optional[List[str]] = None) -> int:
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    try:
        return {"worker": run_worker, "call": run_call, "dead": run_dead}[options.verb](options)
    except weft.Error as error:
        print(f"weft: {error}", file=sys.stderr)
        return 3 if isinstance(error, weft.Unavailable) else 6 if isinstance(error, weft.DeadlineExceeded) else 1
    except (ImportError, LookupError) as error:
        print(f"weft: cannot use {options.module}: {error}", file=sys.stderr)
        return 2
    except SyntaxError:
        traceback.print_exc(limit=0)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
