"""tf_yarn.distributed: functions that are called with their local rank, and that divide the work by themselves."""
from .. import Metrics, NodeLabel, RunFailed, TaskSpec, get_safe_experiment_fn
from ..client import run_on_yarn as run_anywhere

__all__ = ["Metrics", "NodeLabel", "RunFailed", "TaskSpec", "get_safe_experiment_fn", "run_on_yarn"]


def run_on_yarn(*first, **named):
    """As weft.tf_yarn.run_on_yarn; the function is called with the number of its process at the instance, from 0."""
    named.setdefault("custom_task_module", "tf_yarn.distributed.task")
    return run_anywhere(*first, **named)
