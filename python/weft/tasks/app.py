"""Apps and their tasks, as a program that calls them sees them."""
from __future__ import annotations

import datetime
import functools
import importlib
import importlib.util
import json
import os
import random
import time
import traceback
import uuid
from types import SimpleNamespace
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple, Type

import weft

from .results import AsyncResult, EagerResult
from .text import dumps

PERMANENT_S = 86400.0  # how long a result is kept that is not read
# Options of Celery's apply_async for the way of a task, of which there is only one here.
WITHOUT_EFFECT = frozenset(["queue", "exchange", "routing_key", "priority", "serializer", "compression", "headers", "retry", "retry_policy",
                            "connection", "producer", "add_to_parent", "shadow", "ignore_result"])
# Of its @app.task: what this one does in any case, and the way.
OF_TASKS_WITHOUT_EFFECT = WITHOUT_EFFECT | {"acks_late", "acks_on_failure_or_timeout", "reject_on_worker_lost", "track_started", "send_events", "trail",
                                            "typing", "store_errors_even_if_ignored"}
PAGE = "docs/coming-from-celery.md lists all names"


class Retry(Exception):
    """Raised by self.retry(): the task runs again later."""

    def __init__(self, cause: Optional[BaseException], delay_s: float) -> None:
        super().__init__(f"again in {delay_s} s")
        self.cause, self.delay_s = cause, delay_s


class App:
    """A set of tasks and the queue they go through. `broker` is the address of a host, "HOST[:PORT][#TOKEN]"; by default
    WEFT_AT, or localhost. The queue has the name of the app."""

    def __init__(self, main: str, broker: Optional[str] = None, backend: Optional[str] = None, *,
                 result_expires: float = PERMANENT_S, include: Iterable[str] = ()) -> None:
        address = broker[len("weft://"):] if broker and broker.startswith("weft://") else broker
        if address and "://" in address:
            raise ValueError(f"the broker {broker!r} is not a host of Weft\n  try: weft host --journal DIR, and broker=\"localhost:18125\"")
        self.main, self.broker, self.include = main, address, list(include)
        self.tasks: Dict[str, Task] = {}
        self.conf = _Conf(result_expires=result_expires)
        self._results_path = main + ".results"
        self._open: Dict[str, Any] = {}
        self._pid = 0
        _shared.found(self)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"an app of weft.tasks has no {name}; {PAGE}")

    def config_from_object(self, source: Any) -> None:
        """Takes the settings of a module, by its name, or of an object."""
        if isinstance(source, str):
            source = importlib.import_module(source)
        self.conf.update(source if isinstance(source, dict) else {name: value for name, value in vars(source).items() if name[0] != "_"})

    def autodiscover_tasks(self, packages: Iterable[str], related_name: str = "tasks") -> None:
        """Imports the module `tasks` of each package that has one."""
        for package in packages() if callable(packages) else packages:
            if hasattr(importlib.import_module(package), "__path__") and importlib.util.find_spec(f"{package}.{related_name}"):
                importlib.import_module(f"{package}.{related_name}")

    @property
    def result_expires(self) -> float:
        """Seconds after which a result is removed that is not read."""
        expires = self.conf.result_expires
        return float("inf") if expires is None else expires.total_seconds() if isinstance(expires, datetime.timedelta) else float(expires)

    # ---- The host. A child of a fork connects anew.

    def _handle(self, name: str, make: Callable[[], Any]) -> Any:
        if self._pid != os.getpid():
            self._open, self._pid = {}, os.getpid()
        if name not in self._open:
            self._open[name] = make()
        return self._open[name]

    def _connection(self) -> weft.Cluster:
        return self._handle("cluster", lambda: weft.connect(self.broker))

    def _queue(self) -> weft.Queue:
        return self._handle("queue", lambda: self._connection().queue(self.main))

    def _dead(self) -> weft.Queue:
        return self._handle("dead", lambda: self._connection().queue(self.main + ".dead"))

    def _results(self) -> weft.Kv:
        return self._handle("results", lambda: self._connection().kv(self._results_path))

    def close(self) -> None:
        """Leaves the host; the next call connects again."""
        if self._pid == os.getpid() and "cluster" in self._open:
            cluster, self._open = self._open["cluster"], {}
            cluster._leave()

    # ---- Tasks

    def task(self, *functions: Callable[..., Any], **options: Any) -> Any:
        """Makes a task of a function: @app.task or @app.task(max_retries=5, ...)."""
        if functions:
            return Task(self, functions[0], **options)
        return lambda function: Task(self, function, **options)

    def send_task(self, name: str, args: Iterable[Any] = (), kwargs: Optional[Dict[str, Any]] = None,
                  countdown: float = 0, task_id: Optional[str] = None) -> AsyncResult:
        """Calls a task by its name, which this program need not know."""
        id = task_id or uuid.uuid4().hex
        message: Dict[str, Any] = {"id": id, "task": name, "args": list(args), "kwargs": kwargs or {}}
        if countdown > 0:
            message["at"] = time.time() + countdown
        try:
            text = dumps(message)
        except (TypeError, ValueError) as error:
            raise TypeError(f"the arguments of {name} must be numbers, texts, times, lists and dicts: {error}") from None
        self._queue().push(text, key=id if task_id else None)
        return AsyncResult(id, self)

    def AsyncResult(self, id: str) -> AsyncResult:
        """The result of a task by its id."""
        return AsyncResult(id, self)


class _Conf(SimpleNamespace):
    """Settings. task_always_eager runs tasks in the calling process, result_expires is how long a result is kept; others are kept and have no
    effect."""
    task_always_eager = False

    def update(self, *settings: Dict[str, Any], **more: Any) -> None:
        for some in (*settings, more):
            self.__dict__.update(some)


def seconds_until(moment: datetime.datetime) -> float:
    """0 or more; a moment without a time zone is one of UTC."""
    moment = moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)
    return max(0.0, moment.timestamp() - time.time())


class Task:
    """A function that workers run. Calling it runs it here, delay() in a worker.

    max_retries (3), default_retry_delay (180 s), autoretry_for=(Error, ...), retry_backoff (True: 1, 2, 4, ... s; a number:
    that many times), retry_backoff_max (600 s), retry_jitter (True), ignore_result, bind (the first argument is the task),
    name. `max_retries=None` is without a limit."""

    def __init__(self, app: Optional[App], function: Callable[..., Any], *, name: Optional[str] = None, bind: bool = False,
                 max_retries: Optional[int] = 3, default_retry_delay: float = 180, ignore_result: bool = False,
                 autoretry_for: Tuple[Type[BaseException], ...] = (), retry_backoff: Any = False, retry_backoff_max: float = 600,
                 retry_jitter: bool = True, retry_kwargs: Optional[Dict[str, Any]] = None, **unused: Any) -> None:
        functools.update_wrapper(self, function)
        for option, value in unused.items():
            if option not in OF_TASKS_WITHOUT_EFFECT and value is not None:
                raise TypeError(f"a task of weft.tasks has no option {option}={value!r}\n  {PAGE}")
        self.run, self.name = function, name or f"{function.__module__}.{function.__name__}"
        self.bind, self.ignore_result, self.autoretry_for = bind, ignore_result, tuple(autoretry_for)
        retry_kwargs = retry_kwargs or {}
        self.max_retries = retry_kwargs.get("max_retries", max_retries)
        self.default_retry_delay = retry_kwargs.get("countdown", default_retry_delay)
        self.retry_backoff = float(retry_backoff)
        self.retry_backoff_max, self.retry_jitter = retry_backoff_max, retry_jitter
        self.request = SimpleNamespace(id=None, retries=0, args=(), kwargs={})
        if app is not None:
            self._join(app)

    def _join(self, app: App) -> None:
        self.app: App = app
        if self.name.startswith("__main__."):
            self.name = app.main + self.name[len("__main__"):]
        app.tasks[self.name] = self

    def __repr__(self) -> str:
        return f"<task {self.name}>"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a task of weft.tasks has no {name}; {PAGE}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(self, *args, **kwargs) if self.bind else self.run(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> AsyncResult:
        """Has a worker run it."""
        return self.apply_async(args, kwargs)

    def apply_async(self, args: Iterable[Any] = (), kwargs: Optional[Dict[str, Any]] = None, countdown: float = 0,
                    task_id: Optional[str] = None, eta: Optional[datetime.datetime] = None, **others: Any) -> AsyncResult:
        """The same, not before `countdown` seconds, or not before `eta` (without a time zone: UTC). A task_id of your own counts once,
        however often it is sent. Of Celery's other options those that say on which way a task goes have no effect."""
        for name, value in others.items():
            if name not in WITHOUT_EFFECT and value is not None:
                raise TypeError(f"apply_async has no option {name}={value!r}\n  it has countdown, eta and task_id")
        if eta is not None:
            countdown = max(countdown, seconds_until(eta))
        if self.app.conf.task_always_eager:
            return self.apply(args, kwargs)
        return self.app.send_task(self.name, args, kwargs, countdown, task_id)

    def apply(self, args: Iterable[Any] = (), kwargs: Optional[Dict[str, Any]] = None) -> AsyncResult:
        """Runs it in this process, without a host and without retries."""
        try:
            outcome = {"status": "SUCCESS", "value": self(*args, **(kwargs or {}))}
        except Exception as error:
            outcome = describe_error(error)
        return EagerResult(uuid.uuid4().hex, self.app, outcome)

    def retry(self, args: Any = None, kwargs: Any = None, exc: Optional[BaseException] = None, throw: bool = True,
              eta: Optional[datetime.datetime] = None, countdown: Optional[float] = None, max_retries: Optional[int] = None) -> Retry:
        """raise self.retry(exc=error, countdown=5), or without the word raise: ends this attempt; the task runs again later, with the same
        arguments."""
        for name, value, same in ("args", args, self.request.args), ("kwargs", kwargs, self.request.kwargs):
            if value is not None and type(same)(value) != same:
                raise TypeError(f"retry has other {name} than the task\n  a task runs again with the same ones: call it anew by apply_async")
        if max_retries is not None:
            self.max_retries = max_retries
        delay_s = self.delay_after(self.request.retries) if countdown is None else countdown
        again = Retry(exc, seconds_until(eta) if eta is not None else delay_s)
        if throw:
            raise again
        return again

    def delay_after(self, retries: int) -> float:
        """Seconds before the next attempt."""
        if not self.retry_backoff:
            return self.default_retry_delay
        delay_s = min(self.retry_backoff * 2.0 ** min(retries, 60), self.retry_backoff_max)
        return random.uniform(0, delay_s) if self.retry_jitter else delay_s


class _Shared:
    """The tasks of @shared_task, which belong to the app that the program makes, before them or after."""

    def __init__(self) -> None:
        self.app: Optional[App] = None
        self.waiting: List[Task] = []

    def found(self, app: App) -> None:
        self.app = app
        while self.waiting:
            self.waiting.pop(0)._join(app)

    def add(self, task: Task) -> Task:
        if self.app is None:
            self.waiting.append(task)
        return task


_shared = _Shared()


def shared_task(*functions: Callable[..., Any], **options: Any) -> Any:
    """As @app.task, for modules that do not know the app of their program."""
    if functions:
        return _shared.add(Task(_shared.app, functions[0], **options))
    return lambda function: shared_task(function, **options)


def describe_error(error: BaseException) -> Dict[str, Any]:
    """A failure as it is kept: frames of the task alone."""
    kind = type(error)
    frames = traceback.format_exception(kind, error, error.__traceback__)
    text = "".join(part for part in frames if os.path.dirname(__file__) not in part)
    return {"status": "FAILURE", "type": f"{kind.__module__}.{kind.__qualname__}", "message": str(error), "traceback": text}
