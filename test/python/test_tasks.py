"""weft.tasks: calls, results, retries, dead letters and workers that die."""
import datetime
import decimal
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid

import pytest
import weft
from weft.tasks import App, Celery, TaskFailed

MODULE = """
import os, time
from weft.tasks import App
app = App("NAME", broker="ADDRESS")

@app.task
def add(x, y=0):
    return x + y

@app.task(name="by.name", ignore_result=True)
def write(path, text):
    open(path, "a").write(text + "\\n")

@app.task
def fails(text):
    raise ValueError(text)

@app.task(bind=True, max_retries=2, default_retry_delay=0.01)
def counts(self, path):
    open(path, "a").write(f"{self.request.retries}\\n")
    if self.request.retries < 2:
        raise self.retry(exc=OSError("not yet"))
    return self.request.retries

@app.task(bind=True, max_retries=2, default_retry_delay=0.01)
def calls_retry(self, path, how):
    open(path, "a").write(f"{self.request.retries}\\n")
    if self.request.retries < 2:
        if how == "eta":
            import datetime
            self.retry(eta=datetime.datetime.utcnow() + datetime.timedelta(seconds=0.01))
        if how == "other arguments":
            self.retry(args=("other", how))
        self.retry(args=(path, how), kwargs={})
    return self.request.retries

@app.task(autoretry_for=(OSError,), retry_backoff=0.01, retry_jitter=False, max_retries=1)
def never(path):
    open(path, "a").write("again\\n")
    raise OSError("never")

@app.task(max_retries=1)
def kills(path):
    open(path, "a").write("killed\\n")
    os.kill(os.getpid(), 9)

@app.task
def unserializable():
    return object()

@app.task
def exits(path):
    open(path, "a").write("exits\\n")
    raise SystemExit(0)

@app.task
def same(*values):
    return [values, [type(value).__name__ for value in values]]

@app.task(max_retries=0)
def once(path):
    open(path, "a").write("once\\n")

@app.task
def slow(path):
    open(path, "a").write("begun\\n")
    while not os.path.exists(path + ".go"):
        time.sleep(0.01)
    open(path, "a").write("ended\\n")
"""


NUMBERS = itertools.count()
WAIT = 60
# Within which an idle worker ends. The real limit is for an idle machine.
LIMIT_S = 1 if os.environ.get("WEFT_LONG") == "1" else 20


class Work:
    def __init__(self, folder, address, name):
        (folder / f"{name}.py").write_text(MODULE.replace("NAME", name).replace("ADDRESS", address))
        self.folder, self.name, self.processes = folder, name, []
        sys.path.insert(0, str(folder))
        self.module = __import__(name)
        sys.path.remove(str(folder))

    def start(self, *options):
        self.processes.append(subprocess.Popen([sys.executable, "-m", "weft.tasks", "worker", self.name, *options],
                                               cwd=self.folder, stderr=subprocess.PIPE, text=True))
        return self.processes[-1]

    def command(self, *words):
        return subprocess.run([sys.executable, "-m", "weft.tasks", *words], cwd=self.folder, capture_output=True,
                              text=True, timeout=WAIT)

    def stop(self):
        self.module.app.close()
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
            try:
                process.communicate(timeout=WAIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


@pytest.fixture
def work(host, tmp_path):
    made = Work(tmp_path, host.address, f"tasks_{next(NUMBERS)}")
    yield made
    made.stop()


@pytest.mark.parametrize("how", ["plain", "eta"])
def test_retry_without_raise_ends_the_attempt(work, tmp_path, how):
    """As in Celery, where it raises by itself: the task went on, and its result was that of the first attempt."""
    work.start("-c", "1")
    assert work.module.calls_retry.delay(str(tmp_path / "calls"), how).get(timeout=WAIT) == 2
    assert (tmp_path / "calls").read_text() == "0\n1\n2\n"


def test_retry_with_other_arguments_is_refused(work, tmp_path):
    work.start("-c", "1")
    with pytest.raises(TypeError, match="retry has other args than the task"):
        work.module.calls_retry.delay(str(tmp_path / "calls"), "other arguments").get(timeout=WAIT)


def test_a_call_gives_its_result(work):
    work.start("-c", "1")
    first, second = work.module.add.delay(2, 3), work.module.add.apply_async(("a",), {"y": "b"})
    assert first.get(timeout=WAIT) == 5 and second.get(timeout=WAIT) == "ab"
    assert work.module.add(1, 1) == 2
    assert work.module.app.send_task(work.name + ".add", [1, 2]).get(timeout=WAIT) == 3


def test_a_result_has_a_state_and_is_removed_when_it_was_read(work):
    result = work.module.add.delay(1, 1)
    assert result.status == "PENDING" and not result.ready() and result.result is None
    with pytest.raises(weft.DeadlineExceeded, match="no result after 0.05 s"):
        result.get(timeout=0.05)
    work.start("-c", "1")
    again = work.module.app.AsyncResult(result.id)
    deadline = time.monotonic() + WAIT
    while not again.ready() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert again.successful() and again.result == 2
    assert result.get(timeout=WAIT) == 2
    assert work.module.app._results().get(result.id) is None


def test_an_exception_comes_back_and_the_task_is_a_dead_letter(work):
    work.start("-c", "1", "-q")
    result = work.module.fails.delay("wrong")
    with pytest.raises(ValueError, match="wrong") as caught:
        result.get(timeout=WAIT)
    assert "raise ValueError(text)" in caught.value.__cause__.traceback
    assert "weft/tasks" not in caught.value.__cause__.traceback
    letter = json.loads(work.module.app._dead().take(timeout=WAIT).data)
    assert letter["args"] == ["wrong"] and letter["error"]["type"] == "builtins.ValueError"


def test_retry_runs_it_again(work, tmp_path):
    work.start("-c", "1", "-q")
    path = tmp_path / "log"
    assert work.module.counts.delay(str(path)).get(timeout=WAIT) == 2
    assert path.read_text() == "0\n1\n2\n"


def test_retries_end_and_are_a_dead_letter(work, tmp_path):
    work.start("-c", "1", "-q")
    path = tmp_path / "log"
    with pytest.raises(OSError, match="never"):
        work.module.never.delay(str(path)).get(timeout=WAIT)
    assert path.read_text() == "again\nagain\n"
    assert work.module.app._dead().take(timeout=WAIT) is not None


def test_back_off_doubles_up_to_its_limit():
    app = App("none")
    task = app.task(lambda: None, name="n", retry_backoff=2, retry_backoff_max=10, retry_jitter=False)
    assert [task.delay_after(n) for n in range(5)] == [2, 4, 8, 10, 10]
    jitter = app.task(lambda: None, name="j", retry_backoff=True, retry_backoff_max=4)
    assert all(0 <= jitter.delay_after(5) <= 4 for _ in range(50))
    assert app.task(lambda: None, name="d").delay_after(3) == 180


def test_a_countdown_is_waited_for(work):
    work.start("-c", "1")
    started = time.monotonic()
    assert work.module.add.apply_async((1,), countdown=0.3).get(timeout=WAIT) == 1
    assert time.monotonic() - started >= 0.3


def test_an_eta_is_waited_for(work):
    work.start("-c", "1")
    moment = time.time() + 0.6
    aware = datetime.datetime.fromtimestamp(moment, datetime.timezone.utc)
    for eta in aware, aware.replace(tzinfo=None):
        assert work.module.add.apply_async((1, 2), eta=eta, queue="fast").get(timeout=WAIT) == 3 and time.time() >= moment


@pytest.mark.parametrize("option", ["expires", "link", "time_limit", "coutdown"])
def test_an_option_of_a_call_that_would_be_without_effect_is_refused(work, option):
    with pytest.raises(TypeError, match=f"apply_async has no option {option}=5"):
        work.module.add.apply_async((1, 2), **{option: 5})


def test_a_task_without_a_result_leaves_none(work, tmp_path):
    work.start("-c", "1")
    path = tmp_path / "log"
    result = work.module.write.delay(str(path), "text")
    work.module.add.delay(1).get(timeout=WAIT)
    assert path.read_text() == "text\n" and not result.ready()


def test_an_id_of_ones_own_counts_once(work):
    for _ in range(3):
        result = work.module.add.apply_async((1, 2), task_id="mine")
    assert len(work.module.app._queue()) == 1
    work.start("-c", "1")
    assert result.get(timeout=WAIT) == 3


def wait_for_text(path, text):
    deadline = time.monotonic() + WAIT
    while not path.exists() or path.read_text() != text:
        assert time.monotonic() < deadline, f"{path.name} has no {text!r}"
        time.sleep(0.01)


def test_a_worker_that_is_killed_loses_nothing(work, tmp_path):
    path = tmp_path / "log"
    result = work.module.slow.delay(str(path))
    first = work.start("-c", "1")
    wait_for_text(path, "begun\n")
    first.kill()
    work.start("-c", "1")
    wait_for_text(path, "begun\nbegun\n")
    (tmp_path / "log.go").touch()
    assert result.get(timeout=WAIT) is None
    assert path.read_text() == "begun\nbegun\nended\n"


def test_sigterm_lets_a_task_end(work, tmp_path):
    path = tmp_path / "log"
    result = work.module.slow.delay(str(path))
    worker = work.start("-c", "1")
    wait_for_text(path, "begun\n")
    worker.send_signal(signal.SIGTERM)
    time.sleep(0.3)  # for the worker to see it while the task runs
    (tmp_path / "log.go").touch()
    assert worker.wait(WAIT) == 0 and path.read_text() == "begun\nended\n"
    assert result.get(timeout=WAIT) is None


def test_an_idle_worker_ends_at_once(work):
    worker = work.start("-c", "1")
    while not work.module.app._queue().look()["taker_count"]:
        time.sleep(0.01)
    started = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(WAIT) == 0 and time.monotonic() - started < LIMIT_S


def test_a_task_that_kills_its_workers_is_given_up(work, tmp_path):
    worker = work.start("-c", "2")
    path = tmp_path / "log"
    with pytest.raises(RuntimeError, match="the worker died each time"):
        work.module.kills.delay(str(path)).get(timeout=WAIT)
    assert path.read_text() == "killed\n" * 2
    assert work.module.add.delay(1).get(timeout=WAIT) == 1
    worker.terminate()
    _, err = worker.communicate(timeout=WAIT)
    assert worker.returncode == 0 and "is started again" in err


def test_workers_end_with_a_crew_that_is_killed(work):
    crew = work.start("-c", "2")
    queue = work.module.app._queue()
    deadline = time.monotonic() + WAIT
    while queue.look()["taker_count"] < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    crew.kill()
    while queue.look()["taker_count"] and time.monotonic() < deadline:
        time.sleep(0.01)
    assert queue.look()["taker_count"] == 0


@pytest.mark.parametrize("call, message", [
    (lambda module: module.add.delay(object()), "arguments of .*add must be numbers"),
    (lambda module: module.unserializable.delay().get(timeout=WAIT), "value of .*unserializable must be numbers"),
])
def test_what_is_not_json_is_refused(work, call, message):
    work.start("-c", "1", "-q")
    with pytest.raises(TypeError, match=message):
        call(work.module)


def test_a_task_that_the_worker_does_not_have(work):
    work.start("-c", "1", "-q")
    with pytest.raises(LookupError, match="this worker has no task nowhere; it has"):
        work.module.app.send_task("nowhere").get(timeout=WAIT)


def test_what_is_no_message_is_a_dead_letter(work):
    work.start("-c", "1", "-q")
    texts = ["not json", "neither", "neither"]
    for text in texts:
        work.module.app._queue().push(text)
    letters = [work.module.app._dead().take(timeout=WAIT) for _ in texts]
    assert [json.loads(letter.data)["raw"] for letter in letters] == texts


def test_the_commands(work):
    work.start("-c", "1", "-q")
    done = work.command("call", work.name, "add", "2", "3", "--timeout", str(WAIT))
    assert (done.returncode, done.stdout) == (0, "5\n")
    done = work.command("call", work.name, "fails", "wrong", "--timeout", str(WAIT))
    assert done.returncode == 1 and "ValueError: wrong" in done.stderr
    done = work.command("dead", work.name)
    assert done.returncode == 0 and "builtins.ValueError: wrong" in done.stdout
    done = work.command("dead", work.name, "--retry")
    assert "wrong" in done.stdout
    assert work.module.app._dead().take(timeout=WAIT) is not None  # it failed again
    assert work.command("worker", "no_such_module", "-c", "1").returncode == 2
    assert work.command("worker", "json", "-c", "1").returncode == 2
    assert work.command("call", work.name, "nothing").returncode == 4


def test_names_for_programs_that_were_written_for_celery():
    assert Celery is App
    app = Celery("old", broker="localhost:1", backend="rpc://")
    app.conf.update(task_always_eager=True, task_serializer="json")
    add = app.task(lambda x, y: x + y, name="add")
    assert add.delay(1, 2).get() == 3
    bad = app.task(lambda: 1 / 0, name="bad")
    with pytest.raises(ZeroDivisionError):
        bad.delay().get()
    assert isinstance(bad.delay().get(propagate=False).__cause__, TaskFailed)
    with pytest.raises(ValueError, match="redis://localhost.* is not a host"):
        Celery("old", broker="redis://localhost")


def test_a_child_of_a_fork_connects_anew(work):
    work.module.add.delay(1, 1)
    child = os.fork()
    if child == 0:
        work.module.add.delay(2, 2)
        work.module.app.close()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(work.module.app._queue()) == 2


# ---- As programs for Celery are written

def test_a_task_that_calls_sys_exit_fails_and_its_worker_stays(work, tmp_path):
    worker = work.start("-c", "1", "-q")
    with pytest.raises(TaskFailed, match=r"it called sys.exit\(0\)"):
        work.module.exits.delay(str(tmp_path / "log")).get(timeout=WAIT)
    assert (tmp_path / "log").read_text() == "exits\n"
    assert work.module.add.delay(1, 2).get(timeout=WAIT) == 3 and worker.poll() is None


def test_a_countdown_is_no_attempt(work, tmp_path):
    """However the timer of the host and the clock of the worker differ."""
    work.start("-c", "1", "-q")
    results = [work.module.once.apply_async((str(tmp_path / "log"),), countdown=0.05 + number / 100) for number in range(10)]
    assert [result.get(timeout=WAIT) for result in results] == [None] * 10
    assert (tmp_path / "log").read_text() == "once\n" * 10


def test_times_and_the_like_are_arguments_and_results(work):
    values = [datetime.datetime(2026, 1, 2, 3, 4, 5, 6), datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc), datetime.date(2026, 1, 2),
              datetime.time(1, 2), decimal.Decimal("1.50"), uuid.UUID(int=7), b"\x00\xff", {"__type__": "other", "__value__": "1"}]
    work.start("-c", "1", "-q")
    got, kinds = work.module.same.delay(*values).get(timeout=WAIT)
    assert got == values and kinds == ["datetime", "datetime", "date", "time", "Decimal", "UUID", "bytes", "dict"]


@pytest.mark.parametrize("option", ["time_limit", "rate_limit", "base", "max_retires"])
def test_an_option_of_a_task_that_would_be_without_effect_is_refused(option):
    with pytest.raises(TypeError, match=f"has no option {option}=5\n  docs/coming-from-celery.md"):
        App("options").task(lambda: None, name="n", **{option: 5})
    assert App("options").task(lambda: None, name="n", acks_late=True, serializer="json", queue="fast", time_limit=None).name == "n"


def test_names_that_are_not_there_say_where_it_is_written():
    app = App("missing")
    task = app.task(lambda: None, name="n")
    for found, name in (task, "s"), (task, "update_state"), (app, "add_periodic_task"):
        with pytest.raises(AttributeError, match=f"has no {name}; docs/coming-from-celery.md"):
            getattr(found, name)


def test_settings_of_a_module_or_an_object(tmp_path, monkeypatch):
    (tmp_path / "celeryconfig.py").write_text("import os\nresult_expires = 60\ntask_always_eager = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    app = App("configured")
    assert app.result_expires == 86400
    app.config_from_object("celeryconfig")
    assert app.result_expires == 60 and app.task(lambda: 5, name="five").delay().get() == 5
    app.conf.update(result_expires=datetime.timedelta(hours=1))
    assert app.result_expires == 3600
    app.config_from_object({"result_expires": None})
    assert app.result_expires == float("inf")


def test_shared_tasks_belong_to_the_app_of_the_program():
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent("""\
        from weft.tasks import Celery, shared_task
        @shared_task
        def first(x): return x
        @shared_task(bind=True, max_retries=1)
        def second(self, x): return self.name, x
        app = Celery("shop")
        @shared_task
        def third(x): return x
        app.conf.task_always_eager = True
        print(sorted(app.tasks), first.delay(1).get(), second.delay(2).get(), third.delay(3).get())
        """)], capture_output=True, text=True)
    assert ran.stdout == "['shop.first', 'shop.second', 'shop.third'] 1 ('shop.second', 2) 3\n", ran.stderr


def test_the_project_of_the_next_steps_guide(host, tmp_path):
    """A package with its app in proj/celery.py and its tasks in proj/tasks.py."""
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "celery.py").write_text(f"from weft.tasks import Celery\napp = Celery('proj', broker='{host.address}', backend='rpc://', include=['proj.tasks'])\n"
                                      "app.conf.update(result_expires=3600)\napp.autodiscover_tasks(['proj', 'os'])\n")
    (folder / "tasks.py").write_text("from .celery import app\n\n@app.task\ndef add(x, y):\n    return x + y\n")
    worker = subprocess.Popen([sys.executable, "-m", "weft.tasks", "worker", "proj", "-c", "1", "-q"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    try:
        ran = subprocess.run([sys.executable, "-c", textwrap.dedent(f"""\
            from proj.tasks import add
            result = add.apply_async((2, 2), queue="lopri", countdown=0.1)
            print(add.name, result.get(timeout={WAIT}), result.successful(), result.state)
            bad = add.delay(2, "2")
            print(repr(bad.get(timeout={WAIT}, propagate=False)), bad.failed(), bad.state, "TypeError" in bad.traceback)
            """)], cwd=tmp_path, capture_output=True, text=True, timeout=2 * WAIT)
        assert ran.stdout.splitlines() == ["proj.tasks.add 4 True SUCCESS",
                                           "TypeError(\"unsupported operand type(s) for +: 'int' and 'str'\") True FAILURE True"], ran.stderr
    finally:
        worker.terminate()
        assert worker.communicate(timeout=WAIT)[1] == "" and worker.returncode == 0
