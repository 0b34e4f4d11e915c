"""The names of tf-yarn, for programs that ran on YARN by it: the import changes, the program does not.

    from weft.tf_yarn import TaskSpec, run_on_yarn                        # was: from tf_yarn import ...

    run_on_yarn(experiment_fn, {"chief": TaskSpec(memory="2 GiB", vcores=4)}, on="ssh://a,b")

The tasks run wherever `weft cluster run --on` can start them. docs/coming-from-tf-yarn.md says what differs.
"""
from . import mlflow
from .client import RunFailed, run_on_yarn
from .metrics import Metrics
from .task import get_task, get_task_key, is_chief, is_evaluator, is_worker, n_try, report_metric
from .topologies import NodeLabel, TaskSpec, ps_strategy_topology, single_server_topology
from .travelling import get_safe_experiment_fn

__all__ = ["Metrics", "NodeLabel", "RunFailed", "TaskSpec", "get_safe_experiment_fn", "get_task", "get_task_key", "is_chief", "is_evaluator",
           "is_worker", "mlflow", "n_try", "ps_strategy_topology", "report_metric", "run_on_yarn", "single_server_topology"]


def __getattr__(name):
    from .refused import attribute_of
    return attribute_of(__name__, name)
