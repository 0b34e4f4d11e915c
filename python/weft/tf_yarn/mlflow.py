"""MLflow: what a run reports to the server of MLFLOW_TRACKING_URI. The package mlflow is not needed.

The names of tf_yarn.mlflow work in tasks, too: a task hands its figures to the client, which passes them on, so that only the client
needs to reach the server.
"""
import base64
import json
import os
import queue
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from . import task

TIMEOUT_SECONDS = 10  # of a call
FLUSH_SECONDS = 30  # at the end of a run
FAILURES_MAX = 5  # in a row: then the server is left alone
LOG_LINES_MAX = 200000  # of a task
CALLS = {"log_metric": 2, "log_param": 2, "set_tag": 2}  # of tasks, and how many arguments they need


def warn(text):
    print(f"weft: MLflow: {text}", file=sys.stderr, flush=True)


def format_key(key):
    """A name without the characters that keys of MLflow may not have."""
    return key.replace(":", "_").replace("/", "_") if key else ""


# ---- The server ----------------------------------------------------------------------------------------------------

class Rest:
    """A tracking server. Raises OSError and ValueError."""

    def __init__(self, uri):
        self.uri = uri.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        user, token = os.environ.get("MLFLOW_TRACKING_USERNAME"), os.environ.get("MLFLOW_TRACKING_TOKEN")
        if user:
            secret = f"{user}:{os.environ.get('MLFLOW_TRACKING_PASSWORD', '')}".encode()
            self.headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()
        elif token:
            self.headers["Authorization"] = "Bearer " + token

    def send(self, method, path, data=None, kind=None):
        headers = {**self.headers, **({"Content-Type": kind} if kind else {})}
        request = urllib.request.Request(f"{self.uri}/api/2.0/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            detail = error.read(300).decode("utf-8", "replace").strip()
            raise ValueError(f"{method} {path}: {error.code} {error.reason}" + (f": {detail}" if detail else "")) from None
        return json.loads(text) if text.strip() else {}

    def post(self, path, **fields):
        return self.send("POST", "mlflow/" + path, json.dumps(fields).encode())

    def get(self, path, **fields):
        return self.send("GET", f"mlflow/{path}?{urllib.parse.urlencode(fields)}")

    def experiment_id(self):
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if os.environ.get("MLFLOW_EXPERIMENT_ID") or not name:
            return os.environ.get("MLFLOW_EXPERIMENT_ID", "0")
        try:
            return self.get("experiments/get-by-name", experiment_name=name)["experiment"]["experiment_id"]
        except ValueError:
            return self.post("experiments/create", name=name)["experiment_id"]

    def create_run(self, name):
        run = self.post("runs/create", experiment_id=self.experiment_id(), start_time=int(time.time() * 1000), run_name=name,
                        tags=[{"key": "mlflow.runName", "value": name}])
        return run["run"]["info"]["run_id"]

    def log_metric(self, run_id, key, value, step=None):
        self.post("runs/log-metric", run_id=run_id, key=key, value=value, timestamp=int(time.time() * 1000), step=step or 0)

    def log_param(self, run_id, key, value):
        self.post("runs/log-parameter", run_id=run_id, key=key, value=str(value))

    def set_tag(self, run_id, key, value):
        self.post("runs/set-tag", run_id=run_id, key=key, value=str(value))

    def log_text(self, run_id, text, name):
        where = self.get("runs/get", run_id=run_id)["run"]["info"]["artifact_uri"]
        found = urllib.parse.urlsplit(where)
        if found.scheme != "mlflow-artifacts":
            raise ValueError(f"the file {name} cannot be kept in {where}: the server has to serve artifacts (mlflow server --serve-artifacts)")
        path = urllib.parse.quote(f"{found.path.strip('/')}/{name}")
        self.send("PUT", f"mlflow-artifacts/artifacts/{path}", text.encode("utf-8", "replace"), "text/plain")

    def end_run(self, run_id, status):
        self.post("runs/update", run_id=run_id, status=status, end_time=int(time.time() * 1000))


class Package:
    """The same by the package mlflow, for addresses that are not those of a server."""

    def __init__(self, uri):
        from mlflow.tracking import MlflowClient  # type: ignore
        self.client = MlflowClient(tracking_uri=uri)
        self.log_param, self.set_tag, self.log_text = self.client.log_param, self.client.set_tag, self.client.log_text

    def create_run(self, name):
        experiment = os.environ.get("MLFLOW_EXPERIMENT_ID", "0")
        wanted = os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if wanted and "MLFLOW_EXPERIMENT_ID" not in os.environ:
            found = self.client.get_experiment_by_name(wanted)
            experiment = found.experiment_id if found else self.client.create_experiment(wanted)
        return self.client.create_run(experiment, tags={"mlflow.runName": name}).info.run_id

    def log_metric(self, run_id, key, value, step=None):
        self.client.log_metric(run_id, key, value, step=step)

    def end_run(self, run_id, status):
        self.client.set_terminated(run_id, status)


# ---- A run -----------------------------------------------------------------------------------------------------------

class Tracker:
    """The run of MLflow that belongs to a run here. Its calls are made by a thread of its own, in their order, and never fail."""

    def __init__(self, server, uri, name):
        self.server, self.uri, self.failures = server, uri, 0
        self.run_id, self.is_ours = existing_run(), False
        if not self.run_id:
            self.run_id, self.is_ours = server.create_run(name), True
        self.waiting = queue.Queue()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        for name, arguments in iter(self.waiting.get, None):
            if self.failures >= FAILURES_MAX:
                continue
            try:
                getattr(self.server, name)(self.run_id, *arguments)
                self.failures = 0
            except Exception as error:  # those of the package mlflow are of any class
                self.failures += 1
                warn(f"{error}" + ("; nothing more is sent" if self.failures == FAILURES_MAX else ""))

    def add(self, name, *arguments):
        self.waiting.put((name, arguments))

    def log_metric(self, key, value, step=None):
        self.add("log_metric", key, float(value), step)

    def set_tag(self, key, value):
        self.add("set_tag", key, value)

    def call(self, name, arguments):
        """A call of a task. Raises ValueError for one that a task cannot make."""
        if name not in CALLS or len(arguments) < CALLS[name]:
            raise ValueError(name)
        if name == "log_metric":
            self.log_metric(str(arguments[0]), arguments[1], arguments[2] if len(arguments) > 2 else None)
        else:
            self.add(name, str(arguments[0]), arguments[1])

    def environment(self):
        """Variables for tasks that use the package mlflow themselves."""
        return {"MLFLOW_TRACKING_URI": self.uri, "MLFLOW_RUN_ID": self.run_id, "GIT_PYTHON_REFRESH": "quiet"}

    def log_run(self, metrics, watch, logs, number, has_failed):
        """The durations and the output of all tasks."""
        seconds = {format_key(f"{name}_{number}"): value for name, value in metrics.seconds().items()}
        for name, value in seconds.items():
            self.log_metric(name, value)
        self.add("log_text", "".join(f"{name}: {value} secs\n" for name, value in seconds.items()), f"tf_yarn_duration_stats_{number}")
        for name, lines in sorted(logs.items()):
            status = watch.members[name].status(has_failed) if name in watch.members else "UNKNOWN"
            self.add("log_text", "\n".join(lines) + "\n", format_key(f"{name}_{status}_{number}"))

    def end(self, status):
        if self.is_ours:
            self.add("end_run", status)
        self.waiting.put(None)
        self.thread.join(FLUSH_SECONDS)
        if self.thread.is_alive():
            warn(f"the server is slow: not everything was sent in {FLUSH_SECONDS} s")


def existing_run():
    """The id of the run that this process is in, by the package mlflow or by MLFLOW_RUN_ID."""
    package = sys.modules.get("mlflow")
    active = package.active_run() if hasattr(package, "active_run") else None
    return active.info.run_id if active else os.environ.get("MLFLOW_RUN_ID")


def start_tracking(name):
    """A Tracker where MLFLOW_TRACKING_URI is set and its server answers, else None."""
    uri = get_tracking_uri()
    if not use_mlflow():
        return None
    try:
        return Tracker(Rest(uri) if uri.startswith(("http://", "https://")) else Package(uri), uri, name)
    except ImportError:
        warn(f"{uri} is not the address of a server: for it, the package mlflow is needed; the run continues without MLflow")
    except Exception as error:
        warn(f"{uri}: {error}; the run continues without MLflow")
    return None


def end_tracking(tracker, status):
    if tracker:
        tracker.end(status)


# ---- The names of tf_yarn.mlflow -----------------------------------------------------------------------------------

def use_mlflow():
    """Whether MLFLOW_TRACKING_URI is set, and TF_YARN_USE_MLFLOW is not "False"."""
    return bool(get_tracking_uri()) and os.environ.get("TF_YARN_USE_MLFLOW") != "False"


def get_tracking_uri():
    return os.environ.get("MLFLOW_TRACKING_URI", "")


def active_run_id():
    """The id of the run, or "" without one."""
    return existing_run() or ""


def _hand_over(call, *arguments):
    if not use_mlflow():
        return
    if task.in_task():
        task.report_mlflow(call, *arguments)
    elif existing_run():
        tracker = start_tracking("")
        if tracker:
            tracker.call(call, list(arguments))
            tracker.end("FINISHED")
    else:
        warn(f"{call} outside of a run has no effect")


def set_tag(key, value):
    _hand_over("set_tag", key, str(value))


def set_tags(tags):
    for key, value in tags.items():
        set_tag(key, value)


def log_param(key, value):
    _hand_over("log_param", key, str(value))


def log_params(params):
    for key, value in params.items():
        log_param(key, value)


def log_metric(key, value, step=None):
    _hand_over("log_metric", key, float(value), step)


def log_metrics(metrics, step=None):
    for key, value in metrics.items():
        log_metric(key, value, step)


def log_artifact(local_path, artifact_path=None):
    """Keeps a file with the run; in tasks this needs the package mlflow."""
    if use_mlflow():
        try:
            import mlflow  # type: ignore
            mlflow.log_artifact(local_path, artifact_path)
        except Exception as error:
            warn(f"{local_path} is not kept: {error}")


def save_text_to_mlflow(content, filename):
    """Keeps a text as a file with the run; in tasks this needs the package mlflow."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, filename)
        with open(path, "w") as file:
            file.write(content)
        log_artifact(path)
