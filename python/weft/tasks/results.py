"""What became of a task: a key of the map NAME.results, put by the worker and removed when it was read."""
from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any, Dict, Optional

import weft

from .text import loads

if TYPE_CHECKING:
    from .app import App

FOREVER_S = 3600.0  # of one wait, after which another one begins


class TaskFailed(Exception):
    """The function of a task raised; `traceback` is the text of where."""

    def __init__(self, message: str, traceback: str = "") -> None:
        super().__init__(message)
        self.traceback = traceback

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}\n{self.traceback}" if self.traceback else message


def make_error(outcome: Dict[str, Any]) -> BaseException:
    """The exception of the worker, of its own class where that is known here; its cause has the traceback."""
    failed = TaskFailed(outcome["message"], outcome.get("traceback", ""))
    module, _, name = outcome.get("type", "").rpartition(".")
    try:
        kind = getattr(importlib.import_module(module), name)
        error = kind(outcome["message"])
    except Exception:  # another program's class, or one with other arguments
        return failed
    if not isinstance(error, Exception):  # SystemExit would end the program that asks
        return TaskFailed(f"it called sys.exit({outcome['message']})", outcome.get("traceback", "")) if isinstance(error, SystemExit) else failed
    error.__cause__ = failed
    return error


class AsyncResult:
    """The result of a task that may not be there yet. Reading it with get() removes it from the host."""

    def __init__(self, id: str, app: "App") -> None:
        self.id, self._app = id, app
        self._outcome: Optional[Dict[str, Any]] = None

    def __repr__(self) -> str:
        return f"<AsyncResult: {self.id}>"

    @property
    def task_id(self) -> str:
        """Its id."""
        return self.id

    def _look(self) -> Optional[Dict[str, Any]]:
        if self._outcome is None:
            data = self._app._results().get(self.id)
            if data is not None:
                self._outcome = loads(data)
        return self._outcome

    @property
    def status(self) -> str:
        """PENDING, SUCCESS or FAILURE."""
        outcome = self._look()
        return "PENDING" if outcome is None else outcome["status"]

    state = status

    def ready(self) -> bool:
        """Whether it is there."""
        return self._look() is not None

    def successful(self) -> bool:
        """Whether the function returned."""
        return self.status == "SUCCESS"

    def failed(self) -> bool:
        """Whether it failed for good."""
        return self.status == "FAILURE"

    @property
    def result(self) -> Any:
        """The value, or the exception, or None while it is not there."""
        outcome = self._look()
        if outcome is None:
            return None
        return outcome["value"] if outcome["status"] == "SUCCESS" else make_error(outcome)

    info = result

    @property
    def traceback(self) -> Optional[str]:
        """The traceback of a failure."""
        return (self._look() or {}).get("traceback")

    def get(self, timeout: Optional[float] = None, propagate: bool = True) -> Any:
        """Waits for the value and returns it, or raises the exception of the task. weft.DeadlineExceeded, a
        TimeoutError: it was not there after `timeout` seconds."""
        if self._look() is None:
            self._wait(timeout)
        outcome = self._outcome
        assert outcome is not None
        self.forget()
        if outcome["status"] == "SUCCESS":
            return outcome["value"]
        error = make_error(outcome)
        if propagate:
            raise error
        return error

    def _wait(self, timeout: Optional[float]) -> None:
        deadline_s = None if timeout is None else time.monotonic() + timeout
        while self._outcome is None:
            left_s = FOREVER_S if deadline_s is None else max(deadline_s - time.monotonic(), 0.001)
            try:
                for _, value in self._app._connection().kv(self._app._results_path, timeout=left_s).watch(self.id):
                    if value is not None:
                        self._outcome = loads(value)
                        break
            except weft.DeadlineExceeded:
                if deadline_s is not None and time.monotonic() >= deadline_s:
                    raise weft.DeadlineExceeded(f"task {self.id} had no result after {timeout} s") from None

    wait = get

    def forget(self) -> None:
        """Removes it from the host."""
        self._app._results().remove(self.id)


class EagerResult(AsyncResult):
    """Of a task that ran in this process."""

    def __init__(self, id: str, app: "App", outcome: Dict[str, Any]) -> None:
        super().__init__(id, app)
        self._outcome = outcome

    def forget(self) -> None:
        """There is nothing on a host."""
