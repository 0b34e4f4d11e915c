"""weft.tf_yarn: tf-yarn's run_on_yarn over `weft cluster run`, here with the tasks on this machine."""
import datetime
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import pytest
import weft
from weft import tf_yarn
from weft.tf_yarn import NodeLabel, RunFailed, TaskSpec, client, get_safe_experiment_fn, run_on_yarn
from weft.tf_yarn.metrics import EvaluatorMonitor
from weft.tf_yarn.watch import Watch

SMALL = TaskSpec(memory="16 MiB", vcores=1)


@pytest.fixture(autouse=True)
def on_this_machine(monkeypatch):
    monkeypatch.setenv("WEFT_ON", "local:")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(client, "RETRY_SECONDS", 0.05)
    monkeypatch.setattr(client.logger, "hasHandlers", lambda: False)  # but for those of pytest


def small(instances=1, **more):
    return TaskSpec("16 MiB", more.pop("vcores", 1), instances=instances, **more)


def run(function, task_specs, capfd, **more):
    """(Metrics, the lines of standard output)."""
    metrics = run_on_yarn(function, task_specs, **more)
    return metrics, sorted(capfd.readouterr().out.splitlines())


# ---- Arguments

def test_both_orders_of_arguments_are_understood():
    def function():
        pass
    specs = {"chief": SMALL}
    for first, named in [((function, specs), {}), ((function,), {"task_specs": specs}), ((), {"experiment_fn": function, "task_specs": specs})]:
        assert client.arguments_in_order(first, dict(named)) == {"experiment_fn": function, "task_specs": specs}
    for first, named in [(("env.pex", function, specs), {}), (("env.pex", function), {"task_specs": specs}),
                         (("env.pex",), {"experiment_fn": function, "task_specs": specs}), (({"": "env.pex"}, function, specs), {})]:
        found = client.arguments_in_order(first, dict(named))
        assert found["experiment_fn"] is function and found["task_specs"] is specs and found["pyenv_zip_path"] == first[0]


def test_the_older_order_runs(capfd, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    run_on_yarn(str(tmp_path / "venv"), lambda: print("in", os.environ["WEFT_ENVIRONMENT"] in sys.executable), {"chief": SMALL})
    assert "chief/0| in True" in capfd.readouterr().out


@pytest.mark.parametrize("arguments, named, error, text", [
    ((print,), {}, TypeError, "task_specs is missing"),
    ((), {"task_specs": {"chief": SMALL}}, TypeError, "experiment_fn is missing"),
    ((print, {"chief": SMALL}, 1), {}, TypeError, "3 were given"),
    ((print, {"chief": SMALL}), {"task_specs": {}}, TypeError, "task_specs was given twice"),
    ((print, {"chief": SMALL}), {"quueue": "x"}, TypeError, "no argument quueue"),
    ((print, {"chief": SMALL}), {"nb_retries": -1}, ValueError, "nb_retries must be greater or equal to 0"),
    ((print, {"wroker": SMALL}), {}, ValueError, "did you mean worker"),
    ((print, {"chief": 3}), {}, TypeError, "a TaskSpec of weft is expected"),
    ((print, {}), {}, TypeError, "is not a dict"),
    ((print, {"chief": small(2)}), {}, ValueError, "no more than one instance"),
    ((print, {"worker": small(0)}), {}, ValueError, "has no instance"),
    ((print, {"worker": small(nb_proc_per_worker=2)}), {}, ValueError, "2 processes would share 1 vcores"),
    ((print, {"chief": SMALL, "tensorboard": SMALL}), {}, ValueError, "no tb_model_dir"),
    ((print, {"chief": SMALL}), {"files": {"a.py": "/nowhere/a.py"}}, FileNotFoundError, "there is no /nowhere/a.py"),
    ((print, {"chief": SMALL}), {"pyenv_zip_path": "/nowhere.pex"}, FileNotFoundError, "there is no /nowhere.pex"),
    ((print, {"chief": SMALL}), {"pyenv_zip_path": "s3://a/b"}, ValueError, "begins with hdfs://"),
    ((print, {"chief": SMALL}), {"custom_task_module": "tf_yarn.other"}, ValueError, "is not known here"),
    ((print, {"chief": SMALL}), {"eval_monitor_log_thresholds": {"nb_eval_steps": 3}}, ValueError, "a pair"),
    ((threading.Lock().acquire, {"chief": SMALL}), {}, ValueError, "cannot be sent to the tasks"),
])
def test_wrong_arguments_are_refused_before_anything_starts(arguments, named, error, text):
    with pytest.raises(error, match=text):
        run_on_yarn(*arguments, **named)


@pytest.mark.parametrize("memory, mib", [(2048, 2048), ("2048", 2048), ("2 GiB", 2048), ("2GiB", 2048), ("1 gb", 954), ("1", 1), ("1 b", 1),
                                         ("1.5 GiB", 1536)])
def test_sizes_of_memory(memory, mib):
    assert TaskSpec(memory, 1).memory == mib


@pytest.mark.parametrize("arguments, error", [(("2 apples", 1), ValueError), ((2.5, 1), TypeError), ((0, 1), ValueError), ((1, 0), ValueError),
                                              ((1, 1, -1), ValueError), ((1, "2"), TypeError), ((1, 1, 1, 0), ValueError)])
def test_task_specs_that_cannot_be(arguments, error):
    with pytest.raises(error):
        TaskSpec(*arguments)


def test_the_ready_made_sets():
    assert list(tf_yarn.single_server_topology()) == ["chief"]
    specs = tf_yarn.ps_strategy_topology(nb_workers=3, nb_ps=2, memory="1 GiB", vcores=2)
    assert {name: (spec.instances, spec.memory, spec.vcores) for name, spec in specs.items()} == {
        "chief": (1, 1024, 2), "worker": (3, 1024, 2), "ps": (2, 1024, 2)}


@pytest.mark.parametrize("on, queue, url", [
    ("yarn:", "default", "yarn:"), ("yarn:", "ml-gpu", "yarn:///ml-gpu"), ("yarn://rm:8032", "ml-gpu", "yarn://rm:8032/ml-gpu"),
    ("yarn://rm:8032/a", "ml-gpu", "yarn://rm:8032/a"), ("slurm:", "gpu", "slurm:gpu"), ("slurm:a", "gpu", "slurm:a"), ("ssh://a", "default", "ssh://a")])
def test_the_queue_is_part_of_the_url(on, queue, url):
    assert client.launcher_url(on, queue) == url


def test_arguments_without_effect_warn():
    with pytest.warns(UserWarning, match="queue='x' has no effect on local:"):
        run_on_yarn(dict, {"chief": SMALL}, queue="x")
    with pytest.warns(UserWarning, match="acls has no effect"):
        run_on_yarn(dict, {"chief": SMALL}, acls={"view_users": ["*"]})
    with pytest.warns(UserWarning, match="skein_client has no effect"):
        run_on_yarn(dict, {"chief": SMALL}, skein_client=object())
    with pytest.warns(UserWarning, match="file_systems has no effect"):
        run_on_yarn(dict, {"chief": SMALL}, file_systems=["hdfs://preprod"])
    with pytest.warns(UserWarning, match="do not report 'loss'"):
        run_on_yarn(dict, {"chief": SMALL}, eval_monitor_log_thresholds={"loss": (0, 1)})


def test_the_names_of_the_package():
    assert weft.run_on_yarn is run_on_yarn and weft.TaskSpec is TaskSpec and weft.RunFailed is RunFailed
    assert weft.NodeLabel.GPU.value == "gpu" and weft.Metrics is tf_yarn.Metrics
    for module in weft.tf_yarn, __import__("weft.tf_yarn.tensorflow").tf_yarn.tensorflow:
        for name in "Experiment", "KerasExperiment", "EvalMonitorHook":
            with pytest.raises(ImportError, match="Estimators, which TensorFlow removed in 2.16"):
                getattr(module, name)
    with pytest.raises(AttributeError):
        weft.tf_yarn.nothing


# ---- Runs

def test_tasks_have_what_was_asked_for(capfd, tmp_path):
    (tmp_path / "helper.py").write_text("word = 'helped'\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "x.txt").write_text("shipped")

    def function():
        import helper
        config = json.loads(os.environ["TF_CONFIG"])
        task = tf_yarn.get_task_key()
        print(task.to_kv_str(), helper.word, open("data/x.txt").read(), os.environ["COLOUR"], os.environ["HOOKED"],
              sorted(config["cluster"]), os.environ.get("RANK"), tf_yarn.is_chief(), tf_yarn.n_try())

    files = {"helper.py": str(tmp_path / "helper.py"), "data": str(tmp_path / "data")}
    env = {"COLOUR": "green"}
    metrics, lines = run(function, {"chief": SMALL, "worker": small(2), "evaluator": SMALL}, capfd, files=files, env=env,
                         pre_script_hook="words=(a b)\nexport HOOKED=${words[1]}")
    rest = "helped shipped green b ['chief', 'worker']"
    assert lines == [f"chief/0    | chief:0 {rest} 0 True 0", f"evaluator/0| evaluator:0 {rest} None False 0",
                     f"worker/0   | worker:0 {rest} 1 False 0", f"worker/1   | worker:1 {rest} 2 False 0"]
    assert env == {"COLOUR": "green"} and "TF_YARN_N_TRY" not in os.environ
    assert sorted(metrics.container_duration) == ["chief:0", "evaluator:0", "worker:0", "worker:1"]
    assert all(isinstance(one, datetime.timedelta) for one in metrics.container_duration.values())
    assert metrics.total_training_duration >= metrics.train_eval_time_per_node["worker:1"]
    assert metrics.total_eval_duration == metrics.train_eval_time_per_node["evaluator:0"]


def test_processes_of_an_instance_are_ranks(capfd):
    def function(local_rank):
        from weft.tf_yarn.distributed.task import get_task
        task = get_task(local_rank)
        print(task.task_type, tf_yarn.get_task(), local_rank, task.rank, task.world_size, task.n_workers_per_executor, task.master_port > 0)
    from weft.tf_yarn import distributed
    metrics = distributed.run_on_yarn(function, {"worker": small(2, vcores=2, nb_proc_per_worker=2)})
    assert sorted(line.partition("| ")[2] for line in capfd.readouterr().out.splitlines()) == [
        "worker worker:0 0 0 4 2 True", "worker worker:0 1 1 4 2 True", "worker worker:1 0 2 4 2 True", "worker worker:1 1 3 4 2 True"]
    assert sorted(metrics.container_duration) == ["worker:0", "worker:1"]


def test_servers_that_never_end_are_stopped(capfd):
    def function():
        if os.environ["WEFT_ROLE"] != "chief":
            time.sleep(1000)
    begun = time.monotonic()
    metrics = run_on_yarn(function, {"chief": SMALL, "worker": small(2), "ps": SMALL})
    assert time.monotonic() - begun < 60
    err = capfd.readouterr().err
    assert "ps:0" in err and "FAILED" not in err and "KILLED" not in err
    assert metrics.total_training_duration == metrics.train_eval_time_per_node["chief:0"] is not None
    assert metrics.container_duration["ps:0"] and metrics.train_eval_time_per_node["ps:0"] is None


def test_a_failure_fails_the_run_at_once_and_shows_its_traceback(capfd):
    def function():
        if tf_yarn.get_task() == "worker:1":
            threading.Thread(target=time.sleep, args=[1000]).start()  # a thread of the failed task does not keep it
            raise ArithmeticError("one too many")
        time.sleep(1000)
    with pytest.raises(RunFailed, match=r"worker:1 failed: ArithmeticError: one too many") as caught:
        run_on_yarn(function, {"chief": SMALL, "worker": small(2)})
    assert caught.value.exit_code == 1
    err = capfd.readouterr().err
    table = err[err.index("the run has failed"):]
    assert "Exception in task worker:1:\nTraceback" in table and "member.py" not in table
    assert [line.split()[2] for line in table.splitlines()[1:4]] == ["KILLED", "KILLED", "FAILED"]
    assert caught.value.metrics.total_training_duration is None


@pytest.mark.parametrize("message, last", [
    ("\u4ef7" * 15000, "ValueError: " + "\u4ef7" * 1000), ("\U0001f600\n" * 15000 + "end", "end"), ("x" * 30000, "ValueError: " + "x" * 1000),
    ("a\n" * 30000 + "end", "end")], ids=["wide", "lines-of-signs", "long", "lines"])
def test_a_failure_with_a_large_text_is_reported(message, last, capfd):
    def function():
        raise ValueError(message)
    with pytest.raises(RunFailed) as failure:
        run_on_yarn(function, {"chief": SMALL})
    assert str(failure.value).startswith("chief:0 failed: " + last)
    err = capfd.readouterr().err
    assert "weft-report" not in err and "Exception in task chief:0:\nTraceback (most recent call last):" in err


def test_a_report_that_is_too_large_is_a_line(capfd):
    def function():
        from weft.tf_yarn import task
        task.report_mlflow("log_text", "x" * 70000, "name")
    run_on_yarn(function, {"chief": SMALL})
    assert "weft: a report (mlflow) of 70" in capfd.readouterr().err


@pytest.mark.parametrize("end, text", [("os._exit(7)", "exit code 7"), ("os.kill(os.getpid(), 9)", "ended by signal 9"),
                                       ("sys.exit('no data')", "SystemExit: no data"), ("sys.exit(9)", "SystemExit: 9")])
def test_how_a_task_ended_is_reported(end, text, capfd):
    with pytest.raises(RunFailed, match=text):
        run_on_yarn(eval(f"lambda: {end}"), {"chief": SMALL})


def test_an_exit_with_0_is_a_success():
    run_on_yarn(lambda: sys.exit(0), {"chief": SMALL})
    run_on_yarn(lambda: sys.exit(), {"chief": SMALL})


def test_a_run_that_cannot_start_is_an_error_of_its_own(monkeypatch):
    with pytest.raises(weft.InvalidArgument, match="processors|cpus") as caught:
        run_on_yarn(dict, {"chief": TaskSpec("16 MiB", 48000)}, nb_retries=3)
    assert caught.value.exit_code == 2
    with pytest.raises(weft.InvalidArgument, match="no-such-launcher"):
        run_on_yarn(dict, {"chief": SMALL}, on="no-such-launcher:")


def test_labels_are_constraints_of_the_launcher():
    with pytest.raises(weft.InvalidArgument, match="constraint"):
        run_on_yarn(dict, {"chief": small(label=NodeLabel.GPU)})


def test_retries_count_in_the_environment(capfd, monkeypatch):
    pauses = []
    monkeypatch.setattr(client.time, "sleep", pauses.append)

    def function():
        print("try", os.environ["TF_YARN_N_TRY"])
        if tf_yarn.n_try() < 2:
            raise ValueError("not yet")
    run_on_yarn(function, {"chief": SMALL}, nb_retries=5)
    captured = capfd.readouterr()
    assert captured.out.splitlines() == ["chief/0| try 0", "chief/0| try 1", "chief/0| try 2"]
    assert pauses == [0.05, 0.1] and "another try in 0.05 s; 5 are left" in captured.err
    with pytest.raises(RunFailed, match="ValueError: never"):
        def fails():
            raise ValueError("never")
        run_on_yarn(fails, {"chief": SMALL}, nb_retries=1)
    assert len(pauses) == 3


def test_the_pause_between_tries_has_a_limit(monkeypatch):
    pauses = []
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    monkeypatch.setattr(client, "RETRY_SECONDS", 1.0)
    monkeypatch.setattr(client.Try, "run", lambda self, words: 1)
    monkeypatch.setattr(client.Watch, "on_end", None)

    def fail(self, status):
        raise RunFailed("again")
    monkeypatch.setattr(client.Try, "result", fail)
    with pytest.raises(RunFailed):
        run_on_yarn(dict, {"chief": SMALL}, nb_retries=8)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]


def test_ctrl_c_ends_the_run_and_is_not_a_reason_to_try_again(program, tmp_path):
    one = program("""
        import os, time
        from weft.tf_yarn import TaskSpec, run_on_yarn
        def function():
            print("pid", os.getpid(), flush=True)
            time.sleep(1000)
        run_on_yarn(function, {"chief": TaskSpec(16, 1)}, nb_retries=5)
    """)
    pid = int(one.read_line().split()[-1])
    one.process.send_signal(signal.SIGINT)
    code, out, err = one.end()
    assert "KeyboardInterrupt" in err and "another try" not in err and out == ""
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_run_that_is_ended_from_outside_has_failed(monkeypatch, capfd):
    def function():
        above = int(open(f"/proc/{os.getppid()}/stat").read().rpartition(")")[2].split()[1])
        os.kill(above, signal.SIGTERM)  # the command
        time.sleep(1000)
    with pytest.raises(RunFailed, match="the run was ended from outside") as caught:
        run_on_yarn(function, {"chief": SMALL}, nb_retries=3)
    assert caught.value.exit_code == 143 and "another try" not in capfd.readouterr().err


def test_functions_of_the_script_travel_by_value(program):
    code, out, err = program("""
        import sys
        from dataclasses import dataclass
        import weft
        from weft import TaskSpec
        @dataclass
        class Point:
            x: int
        def make(k):
            return lambda: print("made", Point(k))
        if __name__ == "__main__":
            weft.run_on_yarn(make(5), {"worker": TaskSpec(16, 1)})
    """).end()
    assert (code, out) == (0, "worker/0| made Point(x=5)\n"), err


def test_a_module_that_a_task_lacks_is_named(tmp_path, program):
    (tmp_path / "winequality.py").write_text("def function():\n    pass\n")
    code, out, err = program(f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import winequality
        from weft.tf_yarn import TaskSpec, run_on_yarn
        run_on_yarn(winequality.function, {{"chief": TaskSpec(16, 1)}})
    """).end()
    assert code == 1 and "No module named 'winequality'" in err and 'files={"winequality.py"' in err and "pickle.py" not in err


def test_a_safe_function_is_known_by_its_name(tmp_path, capfd):
    (tmp_path / "plan.py").write_text("def function(a, b):\n    print(a + b)\n")
    _, lines = run(get_safe_experiment_fn("plan.function", 2, 40), {"chief": SMALL}, capfd, files={"plan.py": str(tmp_path / "plan.py")})
    assert lines == ["chief/0| 42"]
    with pytest.raises(TypeError):
        get_safe_experiment_fn("plan.function", object())
    with pytest.raises(ValueError, match="has no module"):
        get_safe_experiment_fn("function")


def test_another_python_refuses_functions_by_value(tmp_path):
    from weft.tf_yarn import member, travelling
    path = tmp_path / "experiment"
    assert travelling.write_experiment(lambda: 1, path)
    head, _, data = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(head), "python": "2.6"}).encode() + b"\n" + data)
    with pytest.raises(member.Refused, match=r"made by Python 2\.6, and this task has Python 3\."):
        member.load_experiment(tmp_path)
    assert not travelling.write_experiment(os.getcwd, path) and member.load_experiment(tmp_path)() == os.getcwd()


def test_without_cloudpickle_functions_of_modules_travel(monkeypatch, tmp_path):
    from weft.tf_yarn import member, travelling
    monkeypatch.setattr(travelling.code, "has_cloudpickle", lambda: False)
    assert not travelling.write_experiment(os.getcwd, tmp_path / "experiment")
    assert member.load_experiment(tmp_path)() == os.getcwd()
    with pytest.raises(ValueError, match="pip install cloudpickle"):
        travelling.write_experiment(lambda: 1, tmp_path / "experiment")


def test_estimators_are_refused_with_the_reason(capfd):
    class Experiment:
        estimator = train_spec = eval_spec = None
    with pytest.raises(RunFailed, match="Experiment is for Estimators, which TensorFlow removed in 2.16"):
        run_on_yarn(lambda: Experiment(), {"chief": SMALL})
    assert "Traceback" not in capfd.readouterr().err
    with pytest.raises(ImportError, match="evaluator_task is for Estimators"):
        run_on_yarn(dict, {"evaluator": SMALL}, custom_task_module="tf_yarn.tasks.evaluator_task")


def test_a_custom_module_runs_in_place_of_the_function(tmp_path, capfd):
    (tmp_path / "mine.py").write_text("import sys, os\nif __name__ == '__main__':\n    print('mine', os.environ['WEFT_ROLE'], len(sys.argv))\n")
    _, lines = run(dict, {"chief": SMALL, "worker": SMALL}, capfd, files={"mine.py": str(tmp_path / "mine.py")}, custom_task_module="mine")
    assert lines == ["chief/0 | mine chief 1", "worker/0| mine worker 1"]


def test_horovod_finds_its_rendezvous(capfd):
    def function():
        print(os.environ["HOROVOD_RANK"], os.environ["HOROVOD_SIZE"], os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"].isdigit())
    _, lines = run(function, {"chief": SMALL, "worker": small(2)}, capfd, custom_task_module="tf_yarn.tensorflow.tasks.gloo_allred_task")
    assert lines == ["chief/0     | 0 3 True", "worker/0    | 1 3 True", "worker/1    | 2 3 True"]


def test_a_hook_that_fails_fails_the_task():
    with pytest.raises(RunFailed, match="chief:0 failed with exit code 5"):
        run_on_yarn(dict, {"chief": SMALL}, pre_script_hook="(exit 5)\necho not reached")


def test_tensorboard_is_a_task_beside_the_others(tmp_path, capfd):
    package = tmp_path / "tensorboard"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "main.py").write_text(textwrap.dedent("""
        import sys, time, signal
        print("board", *[word for word in sys.argv[1:] if not word.isdigit()], flush=True)
        print("TensorBoard 2.0 at http://here:6006/ (Press CTRL+C to quit)", flush=True)
        time.sleep(1000)
    """))
    begun = time.monotonic()
    run_on_yarn(lambda: time.sleep(1), {"chief": SMALL, "tensorboard": TaskSpec(16, 1, tb_model_dir="/logs", tb_extra_args="--a 'b c'",
                                                                                tb_termination_timeout_seconds=2)},
                files={"tensorboard": str(package)})
    captured, lasted = capfd.readouterr(), time.monotonic() - begun
    assert 3 <= lasted < 60, captured
    assert "tensorboard/0| board --logdir /logs --a b c --host 127.0.0.1 --port" in captured.out
    assert "weft: TensorBoard: http://here:6006/" in captured.err and "FAILED" not in captured.err
    assert str(package) not in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout


def test_the_program_has_its_log(program):
    code, out, err = program("""
        import logging
        logging.basicConfig(level="INFO", format="LOG %(name)s %(message)s")
        from weft.tf_yarn import TaskSpec, run_on_yarn
        run_on_yarn(dict, {"chief": TaskSpec(16, 1)})
    """).end()
    assert code == 0 and "LOG weft.tf_yarn the run has succeeded" in err


# ---- Figures

def test_figures_of_evaluators_are_printed_within_their_thresholds():
    monitor = EvaluatorMonitor({"nb_eval_steps": (2, 4), "awake_time_ratio": (None, 0.5), "eval_step_mean_duration": (1, None), "loss": (0, 1)})
    assert monitor.unknown() == ["loss"]
    found = [monitor.line("evaluator:0", *pair) is not None for pair in [
        ("nb_eval_steps", 1), ("nb_eval_steps", 2), ("nb_eval_steps", 2), ("nb_eval_steps", 4), ("nb_eval_steps", 5), ("awake_time_ratio", 0.4),
        ("awake_time_ratio", 0.6), ("awake_time_ratio", -1), ("eval_step_mean_duration", 1e9), ("eval_step_mean_duration", 0), ("other", -5)]]
    assert found == [False, True, False, True, False, True, False, False, True, False, True]


def test_a_report_in_the_middle_of_a_line_is_found_and_strange_ones_are_lines(capfd):
    shown = []

    class Calls:
        line = staticmethod(lambda name, text: shown.append(text))
        news = staticmethod(shown.append)
        fact = staticmethod(lambda member, found: shown.append(found["name"]))
    watch = Watch({"worker": small(2)}, Calls)

    def line(text, member="worker/1"):
        watch.take_line(json.dumps({"event": "line", "member": member, "text": text}).encode())
    line('half a line weft-report: {"key": "metric", "name": "loss", "value": 1}')
    line("weft-report: not JSON\x1b[2J")
    line('weft-report: {"key": "x"}', member="other/7")
    line('weft-report: {"key": "train_eval_start_time", "value": "abc"}')
    line('weft-report: [1]')
    watch.take_line(b"not an event \x07")
    watch.take_line(b'{"event": "started", "member": "worker/9"}')
    watch.take_line(b'{"event": "something new"}')
    assert shown == ["loss", "half a line ", "weft-report: not JSON\\x1b[2J", 'weft-report: {"key": "x"}', "weft-report: [1]", "not an event \\x07"]
    assert watch.metrics().total_training_duration is None and "REQUESTED" in watch.table(True)


class Server(http.server.ThreadingHTTPServer):
    """A tracking server that keeps what it gets."""

    def __init__(self, fails=False):
        super().__init__(("localhost", 0), Handler)
        self.got, self.fails = [], fails
        self.uri = f"http://localhost:{self.server_port}"
        threading.Thread(target=self.serve_forever, args=[0.05], daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("/api/2.0/")[2]
        self.server.got.append((self.command, path, data, self.headers.get("Authorization")))
        info = {"run_id": "r1", "artifact_uri": "mlflow-artifacts:/0/r1/artifacts"}
        body = b"broken" if self.server.fails else json.dumps({"run": {"info": info}}).encode()
        self.send_response(500 if self.server.fails else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_PUT = answer

    def log_message(self, *words):
        pass


def test_mlflow_gets_the_figures_of_a_run_without_its_package(monkeypatch, capfd):
    server = Server()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "secret")
    monkeypatch.delenv("MLFLOW_RUN_ID", raising=False)

    def function():
        assert os.environ["MLFLOW_RUN_ID"] == "r1"
        tf_yarn.report_metric("loss", 0.5, step=7)
        tf_yarn.mlflow.log_metrics({"accuracy": 0.75}, step=3)
        tf_yarn.mlflow.log_param("rate", 0.1)
        tf_yarn.mlflow.set_tag("colour", "green")
        print("a line of the task")
    run_on_yarn(function, {"chief": SMALL}, name="exercise")
    server.shutdown()
    posted = [(path, json.loads(data)) for method, path, data, _ in server.got if method == "POST"]
    assert all(authorization == "Basic bWU6c2VjcmV0" for *_, authorization in server.got)
    assert posted[0][0] == "mlflow/runs/create" and posted[0][1]["run_name"] == "exercise"
    metrics = {one["key"]: (one["value"], one["step"]) for path, one in posted if path == "mlflow/runs/log-metric"}
    assert metrics["chief_0_loss_0"] == (0.5, 7) and metrics["accuracy"] == (0.75, 3) and "container_duration_chief_0_0" in metrics
    assert [(one["key"], one["value"]) for path, one in posted if path == "mlflow/runs/log-parameter"] == [("rate", "0.1")]
    assert ("colour", "green") in [(one.get("key"), one.get("value")) for path, one in posted if path == "mlflow/runs/set-tag"]
    assert posted[-1][0] == "mlflow/runs/update" and posted[-1][1]["status"] == "FINISHED"
    kept = {path.rpartition("/")[2]: data.decode() for method, path, data, _ in server.got if method == "PUT"}
    assert kept["chief_0_SUCCEEDED_0"] == "a line of the task\n" and "container_duration_chief_0_0: " in kept["tf_yarn_duration_stats_0"]


def test_a_server_of_mlflow_that_fails_does_not_fail_the_run(monkeypatch, capfd):
    server = Server()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    monkeypatch.setenv("MLFLOW_RUN_ID", "r9")
    server.fails = True
    run_on_yarn(lambda: [tf_yarn.report_metric("loss", n) for n in range(20)], {"chief": SMALL})
    assert len(server.got) == 5 and "nothing more is sent" in capfd.readouterr().err
    monkeypatch.delenv("MLFLOW_RUN_ID")
    run_on_yarn(dict, {"chief": SMALL})
    assert "the run continues without MLflow" in capfd.readouterr().err
    server.shutdown()
    server.server_close()
    monkeypatch.setenv("TF_YARN_USE_MLFLOW", "False")
    run_on_yarn(dict, {"chief": SMALL})
    assert "MLflow" not in capfd.readouterr().err


# ---- Environments

def test_archives_of_conda_pack_and_pexes_have_their_python(tmp_path, capfd):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "--symlinks", tmp_path / "venv"], check=True)
    import zipapp
    import zipfile
    zipped = tmp_path / "conda.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        entry = zipfile.ZipInfo("bin/python3")
        entry.external_attr = 0o755 << 16
        archive.writestr(entry, f"#!/bin/sh\nexport FROM=conda\nexec {sys.executable} \"$@\"\n")
    pex = tmp_path / "pex"
    pex.mkdir()
    (pex / "__main__.py").write_text("import os, sys, runpy\nassert os.environ['PEX_INTERPRETER'] == '1'\nos.environ['FROM'] = 'pex'\n"
                                     "sys.argv = sys.argv[1:]\nsys.path[0] = os.path.dirname(sys.argv[0])\nrunpy.run_path(sys.argv[0], run_name='__main__')\n")
    zipapp.create_archive(pex, tmp_path / "env.pex", interpreter=sys.executable)
    zipapp.create_archive(pex, tmp_path / "env.pex.zip")
    for path, word in (zipped, "conda"), (tmp_path / "env.pex", "pex"), (tmp_path / "env.pex.zip", "pex"):
        _, lines = run(lambda: print(os.environ.get("FROM")), {"chief": SMALL}, capfd, pyenv_zip_path=str(path))
        assert lines == [f"chief/0| {word}"], path


def test_an_environment_for_each_label(tmp_path):
    from weft.tf_yarn.client import Plan
    archive = tmp_path / "env.tar.zst"
    archive.write_bytes(b"x")
    given = dict(experiment_fn=dict, task_specs={"chief": small(label=NodeLabel.GPU), "worker": SMALL}, on=None, queue="default", files=None, env=None,
                 pyenv_zip_path={NodeLabel.CPU: str(archive)}, eval_monitor_log_thresholds=None, custom_task_module=None, name="n",
                 pre_script_hook=None, start_deadline=None, acls=None, settings=None)
    with pytest.raises(ValueError, match="no environment for .*GPU"):
        Plan(given, str(tmp_path))
    plan = Plan({**given, "pyenv_zip_path": {"": str(archive), "gpu": str(archive)}}, str(tmp_path))
    assert plan.spec["roles"]["chief"]["archive"] == str(archive) and plan.spec["roles"]["chief"]["constraint"] == "gpu"


@pytest.mark.parametrize("acls, settings", [
    ({"view_users": ["*"], "ui_users": ["*"]}, {"viewers": "*"}),
    ({"view_users": ["a", "b"], "view_groups": ["c"], "modify_groups": ["d"]}, {"viewers": "a,b c", "modifiers": " d"}),
    ({"enable": False, "view_users": ["a"]}, {}), ({}, {})])
def test_acls_are_settings_of_the_launcher(acls, settings):
    assert client.acl_settings(acls) == settings
    assert client.acl_settings(type("ACLs", (), {"enable": True, **acls})()) == settings


def test_settings_reach_the_description(tmp_path):
    given = dict(experiment_fn=dict, task_specs={"chief": SMALL}, on="yarn://rm", queue="ml", files=None, env=None, pyenv_zip_path=None,
                 eval_monitor_log_thresholds=None, custom_task_module=None, name="n", pre_script_hook=None, start_deadline="3m",
                 acls={"view_users": ["*"]}, settings={"tags": "nightly"})
    plan = client.Plan(given, str(tmp_path))
    assert plan.on == "yarn://rm/ml" and plan.spec["start_deadline"] == "3m" and plan.spec["settings"] == {"viewers": "*", "tags": "nightly"}
    with pytest.warns(UserWarning, match="acls has no effect: local: has none"):
        assert "settings" not in client.Plan({**given, "on": "local:", "settings": None}, str(tmp_path)).spec


def test_editable_packages_travel_beside_an_environment(tmp_path, monkeypatch):
    from weft.tf_yarn import environments
    source = tmp_path / "project"
    (source / "mine").mkdir(parents=True)
    (source / "mine" / "__init__.py").write_text("")
    info = tmp_path / "site" / "mine-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "direct_url.json").write_text(json.dumps({"url": f"file://{source}", "dir_info": {"editable": True}}))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.syspath_prepend(str(source))
    assert environments.editable_packages()["mine"] == str(source / "mine")
