"""The worker: takes tasks, runs them, keeps their results; and the process that keeps several of them running."""
from __future__ import annotations

import ctypes
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

import weft

from .app import App, Retry, Task, describe_error
from .text import dumps, loads

SWEEP_S = 600.0    # between two looks for results that are not read
RESTART_S = 0.5    # before a worker that died is started again
SHORT_S = 0.05     # a wait that is not worth another delivery


PARENT = "WEFT_TASKS_PARENT"


def end_with_parent() -> None:
    """A worker of a crew ends when the crew is killed."""
    parent = os.environ.pop(PARENT, None)
    if parent is None:
        return
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)
    if os.getppid() != int(parent):  # it was killed before
        sys.exit(0)


class Stop(BaseException):
    """The worker is asked to end, and has nothing to do."""


def _first_app(module: Any) -> Optional[App]:
    apps = [value for value in vars(module).values() if isinstance(value, App)]
    named = getattr(module, "app", None)
    return named if isinstance(named, App) else apps[0] if apps else None


def find_app(name: str) -> App:
    """The app of MODULE or MODULE:NAME; that of a package may be in PACKAGE.celery."""
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    module = importlib.import_module(module_name)
    if attribute:
        found = getattr(module, attribute)
    else:
        found = _first_app(module)
        if found is None and hasattr(module, "__path__") and importlib.util.find_spec(module_name + ".celery"):
            found = _first_app(importlib.import_module(module_name + ".celery"))
    if not isinstance(found, App):
        raise LookupError(f"{name} has no app\n  an app is app = weft.tasks.App(...) at its top level; MODULE:NAME names another one")
    for other in found.include:
        importlib.import_module(other)
    return found


class Worker:
    """One process that runs tasks one after the other."""

    def __init__(self, app: App, log: Any = None) -> None:
        self.app, self._log = app, log or (lambda text: None)
        self._is_stopping = self._is_idle = False
        self._next_sweep_s = time.monotonic() + SWEEP_S

    # A task that runs is finished first; a second signal ends it, and another worker runs it again.
    def stop(self, number: int = 0, frame: Any = None) -> None:
        if self._is_stopping or self._is_idle:
            raise Stop
        self._is_stopping = True

    def work(self) -> None:
        queue = self.app._queue()
        try:
            while not self._is_stopping:
                self._is_idle = True
                item = queue.take()
                self._is_idle = False
                if item is None:
                    break
                self._run(item)
                self._sweep()
        except Stop:
            pass
        finally:
            self.app.close()

    def _run(self, item: weft.Item) -> None:
        try:
            message = loads(item.data)
            name, id = message["task"], message["id"]
        except (ValueError, KeyError, TypeError) as error:
            self._bury(item, {"raw": item.text}, describe_error(error))
            return self._finish(item)
        wait_s = message.get("at", 0) - time.time()
        if wait_s > SHORT_S:
            return item.give_back(delay=wait_s)
        time.sleep(max(wait_s, 0))  # its timer and our clock differ: another delivery would count as an attempt
        task = self.app.tasks.get(name)
        if task is None:
            return self._fail(item, message, None, describe_error(LookupError(
                f"this worker has no task {name}; it has {', '.join(sorted(self.app.tasks))}")))
        retries = item.delivery - 1 - ("at" in message)  # the first delivery of one with a countdown was too early
        task.request = SimpleNamespace(id=id, retries=max(retries, 0), args=message["args"], kwargs=message["kwargs"])
        if task.max_retries is not None and retries > task.max_retries:
            return self._fail(item, message, task, describe_error(RuntimeError(
                f"the worker died each time: {retries} attempts")))
        self._attempt(item, message, task)

    def _attempt(self, item: weft.Item, message: Dict[str, Any], task: Task) -> None:
        try:
            value = task(*message["args"], **message["kwargs"])
            outcome = {"status": "SUCCESS", "value": value}
            try:
                if not task.ignore_result:
                    self._keep(message["id"], outcome)
            except TypeError as why:
                raise TypeError(f"the value of {task.name} must be numbers, texts, times, lists and dicts: {why}") from None
            return self._finish(item)
        except Retry as again:
            error: BaseException
            error, delay_s = again.cause or again, again.delay_s
        except task.autoretry_for as caught:
            error, delay_s = caught, task.delay_after(task.request.retries)
        except (Exception, SystemExit) as caught:
            return self._fail(item, message, task, describe_error(caught))
        if task.max_retries is not None and task.request.retries >= task.max_retries:
            return self._fail(item, message, task, describe_error(error))
        self._log(f"{task.name} {message['id']} again in {delay_s:.1f} s: {error}")
        item.give_back(delay=delay_s)

    def _keep(self, id: str, outcome: Dict[str, Any]) -> None:
        self.app._results().put(id, dumps({**outcome, "at": time.time()}))

    # The dead letter comes before the result: a program that has seen that a task failed finds its letter.
    def _fail(self, item: weft.Item, message: Dict[str, Any], task: Optional[Task], outcome: Dict[str, Any]) -> None:
        self._bury(item, message, outcome)
        if task is None or not task.ignore_result:
            self._keep(message["id"], outcome)
        self._finish(item)

    # By a key, where the message has an id: if the worker dies before the item is done, the letter is not there twice.
    def _bury(self, item: weft.Item, message: Dict[str, Any], outcome: Dict[str, Any]) -> None:
        self._log(f"{message.get('task', 'a message')} {message.get('id', '')} failed: {outcome['message']}")
        letter = {**message, "error": outcome}
        key = f"{message['id']}-{message.get('sent_again', 0)}-{item.delivery}" if "id" in message else None
        self.app._dead().push(dumps(letter), key=key)

    def _finish(self, item: weft.Item) -> None:
        try:
            item.done()
        except weft.Aborted as error:  # it took longer than the host waits for a lost worker
            self._log(f"another worker has the task, too: {error}")

    def _sweep(self) -> None:
        if time.monotonic() < self._next_sweep_s:
            return
        self._next_sweep_s = time.monotonic() + SWEEP_S
        results, oldest = self.app._results(), time.time() - self.app.result_expires
        for key, value in results.range():
            if json.loads(value).get("at", 0) < oldest:
                results.remove(key)


class Crew:
    """Several workers, each in a process of its own. One that dies is started again."""

    def __init__(self, command: List[str], count: int) -> None:
        self._command, self._is_stopping = command, False
        self._workers = [self._start() for _ in range(count)]

    # In a session of its own: Ctrl-C is for the crew, which then asks each worker once.
    def _start(self) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, PARENT: str(os.getpid())}
        return subprocess.Popen(self._command, start_new_session=True, env=environment)

    def stop(self, number: int, frame: Any) -> None:
        self._is_stopping = True
        for worker in self._workers:
            worker.send_signal(signal.SIGTERM)

    def watch(self) -> int:
        """Until all have ended; the first code that is not 0."""
        while not self._is_stopping:
            time.sleep(RESTART_S)
            ended = [worker for worker in self._workers if worker.poll() is not None]
            if len(ended) == len(self._workers) and all(worker.returncode == 0 for worker in ended):
                break  # the queue was closed
            if any(worker.returncode == 2 for worker in ended):  # its usage is wrong, or its module
                self.stop(0, None)
                break
            for worker in ended:
                if worker.returncode and not self._is_stopping:
                    print(f"weft: a worker ended with {worker.returncode}, and is started again", file=sys.stderr)
                    self._workers[self._workers.index(worker)] = self._start()
        codes = [abs(worker.wait()) for worker in self._workers]
        return max((code for code in codes if code != signal.SIGTERM), default=0)
