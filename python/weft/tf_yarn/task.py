"""For code that runs in a task: which one it is, and metrics for the client."""
import os
from typing import Any, NamedTuple, Optional

from .member import report

TF_YARN_N_TRY = "TF_YARN_N_TRY"


class TaskKey(NamedTuple):
    """A task: its type, and its number among the instances of that type."""
    type: str
    id: int

    def to_kv_str(self) -> str:
        return f"{self.type}:{self.id}"


def in_task() -> bool:
    """Whether this process belongs to a task."""
    return "WEFT_ROLE" in os.environ


def get_task_key() -> TaskKey:
    """The task of this process."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    return TaskKey(os.environ["WEFT_ROLE"], int(os.environ["WEFT_INDEX"]) // processes)


def get_task() -> str:
    """The task of this process, such as "worker:0"."""
    return get_task_key().to_kv_str()


def get_task_type(task: str) -> str:
    """"worker" of "worker:0"."""
    return task.split(":")[0]


def n_try() -> int:
    """How often the run has been started again: 0 at first."""
    return int(os.environ.get(TF_YARN_N_TRY) or 0)


def _type_or_own(task_type: Optional[str]) -> str:
    return get_task_key().type if task_type is None else task_type


def is_chief(task_type: Optional[str] = None) -> bool:
    """Whether the task, or that of this process, is the chief."""
    return _type_or_own(task_type) == "chief"


def is_worker(task_type: Optional[str] = None) -> bool:
    """Whether the task, or that of this process, is a worker."""
    return _type_or_own(task_type) == "worker"


def is_evaluator(task_type: Optional[str] = None) -> bool:
    """Whether the task, or that of this process, is an evaluator."""
    return _type_or_own(task_type) == "evaluator"


def report_metric(name: str, value: float, step: Optional[int] = None) -> None:
    """Reports a figure. The client prints those of evaluators (eval_monitor_log_thresholds), and hands all of them to MLflow.

        weft.tf_yarn.report_metric("last_training_step", 1200)
    """
    report("metric", float(value), name=str(name), step=None if step is None else int(step))


def report_mlflow(call: str, *arguments: Any) -> None:
    """A call of MLflow that the client makes."""
    report("mlflow", None, call=call, arguments=list(arguments))
