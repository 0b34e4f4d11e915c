"""run_on_yarn(): a description of roles is written, `weft cluster run` runs it, and this process shows its events.

The launcher of the tasks is that of `on=`, of WEFT_ON, or YARN.
"""
import json
import logging
import os
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from .. import _weft
from ..job import find_command
from . import mlflow
from .environments import editable_packages, find_environment, shell_words
from .metrics import EvaluatorMonitor, Metrics
from .task import TF_YARN_N_TRY, in_task
from .topologies import NodeLabel, TaskSpec, check_task_specs
from .travelling import library, write_experiment
from .watch import Watch, plain

DEFAULT_ON = "yarn:"
FOLDER = "weft-run"  # in the directory of a task
READ_BYTES = 1 << 16
RETRY_SECONDS, RETRY_SECONDS_MAX = 1.0, 60.0
GRACE_SECONDS = 5  # that members are given to end
ENDED = (130, 143)  # exit codes of a run that a person has ended; an interrupt here raises KeyboardInterrupt by itself
OURS = ("tf_yarn.", "weft.tf_yarn.")
# What the task modules of tf-yarn are here: how member.py calls the function.
MODULES = {"distributed.task": "local_rank", "pytorch.tasks.worker": "pytorch", "tensorflow.tasks.gloo_allred_task": "call",
           "tasks.gloo_allred_task": "call", "tensorflow.tasks._independent_workers_task": "call", "tasks._independent_workers_task": "call"}
logger = logging.getLogger("weft.tf_yarn")


class RunFailed(Exception):
    """A task failed, or the run was ended from outside. `exit_code` is that of `weft cluster run`, and `metrics` has the durations."""

    exit_code: int = 1
    metrics: Optional[Metrics] = None


def say(text: str) -> None:
    """A line for people: to the log of the program where it has one, else to standard error."""
    if logger.hasHandlers():
        logger.info(text)  # of a level that the program chooses
    else:
        print("weft: " + text, file=sys.stderr, flush=True)


# ---- The description ---------------------------------------------------------------------------------------------

def arguments_in_order(first: Tuple[Any, ...], named: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments by name: (experiment_fn, task_specs), or as in older versions (pyenv_zip_path, experiment_fn, task_specs)."""
    is_older = bool(first) and not callable(first[0])
    names = ("pyenv_zip_path", "experiment_fn", "task_specs") if is_older else ("experiment_fn", "task_specs")
    if len(first) > len(names):
        raise TypeError(f"run_on_yarn takes {len(names)} arguments without a name ({', '.join(names)}), and {len(first)} were given")
    for name, value in zip(names, first):
        if name in named:
            raise TypeError(f"run_on_yarn: {name} was given twice")
        named[name] = value
    for name in "experiment_fn", "task_specs":
        if name not in named:
            raise TypeError(f"run_on_yarn: {name} is missing")
    return named


def how_to_call(module: Optional[str]) -> List[str]:
    """The words of member.py for a custom_task_module."""
    for prefix in OURS:
        if module and module.startswith(prefix):
            name = module[len(prefix):]
            if name.endswith("evaluator_task"):
                from .refused import refuse
                refuse("evaluator_task")
            if name not in MODULES:
                raise ValueError(f"custom_task_module: tf-yarn's module {name} is not known here; "
                                 f"these are: {', '.join(sorted(MODULES))}")
            return [MODULES[name]]
    return ["call"] if module is None else ["module", module]


def role_command(environment: Any, call: List[str], hook: Optional[str]) -> List[str]:
    words = [*environment.words, f"{FOLDER}/member.py", FOLDER, *call]
    return words if not hook else ["bash", "-c", f"set -e\n{hook}\nexec {shell_words(words)}"]


def tensorboard_command(environment: Any, spec: TaskSpec, hook: Optional[str]) -> List[str]:
    """TensorBoard in the foreground. Asked to end, it stays for tb_termination_timeout_seconds."""
    import shlex
    words = [*environment.words, "-m", "tensorboard.main", "--logdir", str(spec.tb_model_dir), *shlex.split(spec.tb_extra_args or "")]
    linger = max(0, spec.tb_termination_timeout_seconds)
    # In a session of its own TensorBoard does not get the signal that this shell waits for.
    script = ("set -e\n" + (hook or "") + f"\nsetsid {shell_words(words)}" ' --host "$WEFT_HOST" --port "$WEFT_PORT" & board=$!\n'
              f"trap 'sleep {linger}; kill $board; exit 0' TERM\nset +e\nwait $board")
    return ["bash", "-c", script]


def is_awaited(name: str, task_specs: Dict[str, TaskSpec]) -> bool:
    """TensorFlow's parameter servers never end, and neither do the workers of a chief that has parameter servers."""
    def has(role: str) -> bool:
        return role in task_specs and task_specs[role].instances > 0
    if name == "tensorboard":
        return not any(has(role) for role in task_specs if role != name)
    trains = has("chief") or has("worker") or has("evaluator")
    return not (name == "ps" and trains or name == "worker" and has("chief") and has("ps"))


def make_roles(task_specs: Dict[str, TaskSpec], environments: Dict[NodeLabel, Any], call: List[str], hook: Optional[str]) -> Dict[str, Any]:
    roles = {}
    for name, spec in task_specs.items():
        environment = environments[spec.label]
        role: Dict[str, Any] = {"instances": spec.instances, "memory": f"{spec.memory} MiB", "cpus": spec.vcores,
                                "awaited": is_awaited(name, task_specs)}
        if name == "tensorboard":
            if not spec.tb_model_dir:
                raise ValueError('tensorboard: TaskSpec has no tb_model_dir, the directory that it shows\n'
                                 '  try: TaskSpec(..., tb_model_dir="hdfs:///user/me/logs"); Estimators said it by their model_dir')
            role.update(command=tensorboard_command(environment, spec, hook), may_fail=role["awaited"] is False,
                        env={"TB_TERMINATION_TIMEOUT_SECONDS": str(max(0, spec.tb_termination_timeout_seconds)),
                             "TB_MODEL_DIR": str(spec.tb_model_dir), "TB_EXTRA_ARGS": spec.tb_extra_args or ""})
        else:
            role.update(command=role_command(environment, call, hook), processes=spec.nb_proc_per_worker)
        if environment.archive:
            role["archive"] = environment.archive
        if spec.label is not NodeLabel.CPU:
            role["constraint"] = spec.label.value
        if spec.gpus is not None:
            role["gpus"] = spec.gpus
        roles[name] = role
    return roles


def launcher_url(on: str, queue: str) -> str:
    """The URL with the queue in it, where the launcher has queues and the URL names none."""
    if queue == "default":
        return on
    kind, _, place = on.partition(":")
    if kind == "slurm":
        return on if place.strip("/") else f"slurm:{queue}"
    if kind == "yarn":
        authority, slash, given = place[2:].partition("/") if place.startswith("//") else ("", "", place)
        return on if given else f"yarn://{authority}/{queue}"
    warnings.warn(f"queue={queue!r} has no effect on {on}", stacklevel=4)
    return on


def acl_settings(acls: Any) -> Dict[str, str]:
    """Settings of the launcher yarn: for the ACLs of skein, or a dict with the same names: lists of users and groups."""
    def part(name: str) -> str:
        found = acls.get(name) if isinstance(acls, dict) else getattr(acls, name, None)
        return ",".join(found or ())
    is_enabled = acls.get("enable", True) if isinstance(acls, dict) else getattr(acls, "enable", True)
    found = {}
    for setting, kind in ("viewers", "view"), ("modifiers", "modify"):
        users, groups = part(kind + "_users"), part(kind + "_groups")
        if is_enabled and (users or groups):
            found[setting] = "*" if "*" in users.split(",") else f"{users} {groups}".rstrip()
    return found


def has_no_effect(is_given: bool, name: str, why: str) -> None:
    if is_given:
        warnings.warn(f"{name} has no effect: {why}", stacklevel=4)


# ---- One try -----------------------------------------------------------------------------------------------------

class Try:
    """One run of the command. It is the `calls` of a Watch."""

    def __init__(self, plan: "Plan", number: int) -> None:
        self.plan, self.number = plan, number
        awaited = {role for role in plan.task_specs if is_awaited(role, plan.task_specs)}
        self.watch = Watch(plan.task_specs, self, awaited)
        self.logs: Dict[str, List[str]] = {}
        self.rest = {1: b"", 2: b""}

    def line(self, name: str, text: str) -> None:
        print(f"{name}| {text}", file=sys.stderr, flush=True)
        self.keep(name, text)

    def keep(self, name: str, text: str) -> None:
        lines = self.logs.setdefault(name, [])
        if self.plan.tracker and len(lines) < mlflow.LOG_LINES_MAX:
            lines.append(text)

    def news(self, text: str) -> None:
        say(text)
        if text.startswith("TensorBoard: ") and self.plan.tracker:
            self.plan.tracker.set_tag(f"tensorboard_0_url_{self.number}", text.partition(": ")[2])

    def fact(self, member: Any, found: Dict[str, Any]) -> None:
        """A metric, or a call of MLflow, of a task."""
        tracker = self.plan.tracker
        try:
            if found["key"] == "metric":
                name, value = plain(found["name"]), float(found["value"])
                text = self.plan.monitor.line(member.task, name, value) if member.role == "evaluator" else None
                if text:
                    say(text)
                if tracker:
                    tracker.log_metric(mlflow.format_key(f"{member.task}_{name}_{self.number}"), value, found.get("step"))
            elif tracker:
                tracker.call(str(found["call"]), found["arguments"])
        except (KeyError, TypeError, ValueError):
            say(f"{member.task} has reported something that is not a metric")

    def take(self, number: int, data: bytes) -> None:
        """Bytes of standard output (1) or standard error (2) of the command."""
        *lines, self.rest[number] = (self.rest[number] + data).split(b"\n")
        for line in lines:
            if number == 2:
                self.watch.take_line(line)
                continue
            text = line.decode("utf-8", "replace")
            print(text, flush=True)
            name, bar, rest = text.partition("|")
            if bar and name.rstrip() in self.watch.members:
                self.keep(name.rstrip(), rest[1:])

    def run(self, words: List[str]) -> int:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            with selectors.DefaultSelector() as selector, process.stdout, process.stderr:  # type: ignore[union-attr]
                selector.register(process.stdout, selectors.EVENT_READ, 1)
                selector.register(process.stderr, selectors.EVENT_READ, 2)
                while selector.get_map():
                    for ready, _ in selector.select():
                        data = os.read(ready.fd, READ_BYTES)
                        self.take(ready.data, data)
                        if not data:
                            selector.unregister(ready.fileobj)
                for number, rest in self.rest.items():
                    self.take(number, b"\n" if rest else b"")
            return process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise

    def result(self, status: int) -> Metrics:
        """The durations, or an exception."""
        watch, end = self.watch, self.watch.end or {}
        if not watch.has_begun and status:
            raise not_started(end, watch.error_lines, status)
        say(f"the run has {'failed' if status else 'succeeded'}\n{watch.table(bool(status))}")
        metrics = watch.metrics()
        if self.plan.tracker:
            self.plan.tracker.log_run(metrics, watch, self.logs, self.number, bool(status))
        if status == 0:
            return metrics
        is_ended = status in ENDED and not watch.first_failure
        error = RunFailed(watch.sentence() if not is_ended else f"the run was ended from outside{': ' if watch.why else ''}{watch.why}")
        error.exit_code, error.metrics = status, metrics
        raise error


def not_started(end: Dict[str, Any], lines: List[str], status: int) -> Exception:
    """Nothing has run: an exception of the class that belongs to the code of the command's error."""
    text = end.get("error") or "\n".join(lines) or "the command weft ended without a word"
    classes = {cls.code_name: cls for cls in vars(_weft).values()
               if isinstance(cls, type) and issubclass(cls, _weft.Error) and cls is not _weft.Error}
    default = {3: _weft.Unavailable, 6: _weft.DeadlineExceeded}.get(status, _weft.Unknown)
    error = classes.get(end.get("code"), default)(text)
    error.exit_code = status
    return error


# ---- All tries ---------------------------------------------------------------------------------------------------

class Plan:
    """A run in all of its tries: its description, in a directory of its own."""

    def __init__(self, given: Dict[str, Any], folder: str) -> None:
        self.folder, self.task_specs = folder, given["task_specs"]
        self.on = launcher_url(given["on"] or os.environ.get("WEFT_ON") or DEFAULT_ON, given["queue"])
        self.is_far = not self.on.startswith("local:")
        self.is_yarn = self.on.startswith("yarn:")
        has_no_effect(given["acls"] is not None and not self.is_yarn, "acls", f"{self.on} has none")
        self.monitor = EvaluatorMonitor(given["eval_monitor_log_thresholds"])
        for name in self.monitor.unknown():
            warnings.warn(f"eval_monitor_log_thresholds: tf-yarn's evaluators do not report {name!r}; it counts when a task reports it",
                          stacklevel=4)
        call = how_to_call(given["custom_task_module"])
        experiment = os.path.join(folder, "experiment")
        needs_cloudpickle = write_experiment(given["experiment_fn"], experiment)
        environments = self.find_environments(given["pyenv_zip_path"])
        files = {os.path.normpath(target): os.path.abspath(source) for target, source in (given["files"] or {}).items()}
        check_files(files)
        if given["pyenv_zip_path"] is not None:
            files = {**editable_packages(), **files}
        for environment in environments.values():
            files.update(environment.files)
        here = os.path.dirname(os.path.abspath(__file__))
        files.update({f"{FOLDER}/experiment": experiment, f"{FOLDER}/member.py": os.path.join(here, "member.py")})
        files.update({f"{FOLDER}/lib/{name}": path for name, path in library(needs_cloudpickle).items()})
        self.environment = {**(given["env"] or {})}
        self.environment["PYTHONPATH"] = ".:" + self.environment.get("PYTHONPATH", "")
        self.spec = {"name": given["name"], "files": files,
                     "roles": make_roles(self.task_specs, environments, call, given["pre_script_hook"])}
        if "tensorboard" in self.spec["roles"]:  # files for all roles do not reach it
            self.spec["roles"]["tensorboard"]["files"] = files
        if call == ["call"] and (given["custom_task_module"] or "").endswith("gloo_allred_task"):
            self.spec["preset"] = "horovod"
            self.spec["roles"].setdefault("worker", {"instances": 0})
        if given["start_deadline"]:
            self.spec["start_deadline"] = given["start_deadline"]
        settings = {**acl_settings(given["acls"] or {}), **(given["settings"] or {})} if self.is_yarn else given["settings"]
        if settings:
            self.spec["settings"] = settings
        self.tracker = mlflow.start_tracking(given["name"])

    def find_environments(self, path: Any) -> Dict[NodeLabel, Any]:
        """An Environment for each label that a task has; those with one path share it."""
        labels = {spec.label for spec in self.task_specs.values()}
        paths = {label: path for label in labels}
        if isinstance(path, dict):
            paths = {NodeLabel(label): one for label, one in path.items() if NodeLabel(label) in labels}
            if labels - set(paths):
                raise ValueError(f"pyenv_zip_path has no environment for {sorted(str(label) for label in labels - set(paths))}")
        found = {one: find_environment(one, self.folder, self.is_far) for one in set(paths.values())}
        return {label: found[one] for label, one in paths.items()}

    def words(self, number: int) -> List[str]:
        """The command of a try, whose description it writes."""
        environment = {**self.environment, TF_YARN_N_TRY: str(number)}
        if self.tracker:
            environment.update(self.tracker.environment())
        path = os.path.join(self.folder, f"job-{number}.json")
        with open(path, "w") as file:
            json.dump({**self.spec, "env": environment}, file)
        board = self.task_specs.get("tensorboard")
        linger = max(0, board.tb_termination_timeout_seconds) if board else 0
        grace = ["--grace", f"{linger + GRACE_SECONDS}s"] if linger else []
        return [find_command(), "cluster", "run", "--json", "--on", self.on, "--spec", path, *grace]

    def run(self, retries: int) -> Metrics:
        for number in range(retries + 1):
            try:
                one = Try(self, number)
                return one.result(one.run(self.words(number)))
            except (RunFailed, _weft.Unavailable, _weft.DeadlineExceeded) as error:
                if number == retries or getattr(error, "exit_code", 1) in ENDED:
                    raise
                delay = min(RETRY_SECONDS * 2 ** number, RETRY_SECONDS_MAX)
                left = retries - number
                say(f"{error}\nanother try in {delay:g} s; {left} {'is' if left == 1 else 'are'} left")
                time.sleep(delay)
        raise AssertionError("unreachable")


def check_files(files: Dict[str, str]) -> None:
    for target, source in files.items():
        if not os.path.exists(source):
            raise FileNotFoundError(f"files[{target!r}]: there is no {source}")


def run_on_yarn(*first: Any, pyenv_zip_path: Union[str, Dict[NodeLabel, str], None] = None, skein_client: Any = None,
                files: Optional[Dict[str, str]] = None, env: Optional[Dict[str, str]] = None, queue: str = "default", acls: Any = None,
                file_systems: Optional[List[str]] = None,
                eval_monitor_log_thresholds: Optional[Dict[str, Tuple[Optional[float], Optional[float]]]] = None, nb_retries: int = 0,
                custom_task_module: Optional[str] = None, name: str = "RunOnYarn", pre_script_hook: Optional[str] = None,
                cuda_runtime_hdfs_path: Optional[str] = None, on: Optional[str] = None, start_deadline: Optional[str] = None,
                settings: Optional[Dict[str, str]] = None, **named: Any) -> Metrics:
    """Runs a function in tasks on other machines, and returns how long they took.

        run_on_yarn(experiment_fn, {"chief": TaskSpec(memory="2 GiB", vcores=4)}, on="ssh://a,b")

    `experiment_fn()` is called in each task, with TF_CONFIG, RANK, MASTER_ADDR and the like set (docs/roles.md), and trains. `task_specs` has
    the resources of each task type: chief, worker, ps, evaluator, tensorboard. The older order of arguments, with `pyenv_zip_path` first,
    is understood, too.

    pyenv_zip_path: a venv, an archive of `weft pack`, a .pex or an archive of conda-pack, or one for each NodeLabel; by default the venv of
    this process. files: {name in the directory of a task: path here}. env: variables of all tasks. nb_retries: a run that fails is
    started again, with a growing pause between tries; TF_YARN_N_TRY counts them. custom_task_module: a module that runs in place of the
    function. pre_script_hook: a text for bash that runs before; its failure fails the task. on: where tasks run, as for `weft cluster run --on`;
    by default WEFT_ON, or YARN. start_deadline: such as "5m", in which all tasks have to start. settings: of the launcher, as those of
    `weft cluster run --set`.

    Raises RunFailed when a task fails, and an exception of weft, such as weft.InvalidArgument, when nothing could be started.
    """
    given = arguments_in_order(first, {**named, **({"pyenv_zip_path": pyenv_zip_path} if pyenv_zip_path is not None else {})})
    unknown = set(given) - {"pyenv_zip_path", "experiment_fn", "task_specs"}
    if unknown:
        raise TypeError(f"run_on_yarn has no argument {sorted(unknown)[0]}")
    given.setdefault("pyenv_zip_path", None)
    if isinstance(nb_retries, bool) or not isinstance(nb_retries, int) or nb_retries < 0:
        raise ValueError(f"nb_retries must be greater or equal to 0. Got {nb_retries}")
    if in_task():
        warnings.warn("run_on_yarn is called inside of a task: it starts another run", stacklevel=2)
    if cuda_runtime_hdfs_path is not None:
        fetch = f'"$WEFT_PROGRAM" get {shell_words([cuda_runtime_hdfs_path])} cuda.tar && mkdir -p cuda && tar -xf cuda.tar -C cuda && rm cuda.tar'
        pre_script_hook = fetch + "\n" + (pre_script_hook or "")
    has_no_effect(skein_client is not None, "skein_client", "there is no Java driver to share")
    has_no_effect(bool(file_systems), "file_systems", "clusters with Kerberos, which need tokens of file systems, are not supported")
    check_task_specs(given["task_specs"])
    folder = tempfile.mkdtemp(prefix="weft-run-")
    plan = None
    try:
        plan = Plan({**given, "files": files, "env": env, "queue": queue, "name": name, "on": on, "start_deadline": start_deadline, "acls": acls, "settings": settings,
                     "eval_monitor_log_thresholds": eval_monitor_log_thresholds, "custom_task_module": custom_task_module,
                     "pre_script_hook": pre_script_hook}, folder)
        metrics = plan.run(nb_retries)
        mlflow.end_tracking(plan.tracker, "FINISHED")
        return metrics
    except KeyboardInterrupt:
        mlflow.end_tracking(plan and plan.tracker, "KILLED")
        raise
    except BaseException:
        mlflow.end_tracking(plan and plan.tracker, "FAILED")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
