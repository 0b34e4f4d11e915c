"""tf_yarn.tensorflow: run_on_yarn for functions that train by TensorFlow 2."""
from .. import Metrics, NodeLabel, RunFailed, TaskSpec, get_safe_experiment_fn, ps_strategy_topology, single_server_topology
from ..client import run_on_yarn as run_anywhere

__all__ = ["Metrics", "NodeLabel", "RunFailed", "TaskSpec", "get_safe_experiment_fn", "ps_strategy_topology", "run_on_yarn",
           "single_server_topology"]


def run_on_yarn(*first, **named):
    """As weft.tf_yarn.run_on_yarn; without task_specs a chief alone runs."""
    if "task_specs" not in named and len(first) < 2:
        named["task_specs"] = single_server_topology()
    return run_anywhere(*first, **named)


def __getattr__(name):
    from ..refused import attribute_of
    return attribute_of(__name__, name)
