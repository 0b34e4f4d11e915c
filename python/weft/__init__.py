"""Weft for Python: clusters of cooperating programs, and MapReduce.

    import weft
    with weft.connect("localhost:18125") as c:
        c.queue("jobs").push("hello")

    counts = dict(weft.run(map=lambda line: line.split(), fold=weft.count, inputs="books/"))

`weft.cluster()` joins the cluster that TF_CONFIG describes. `weft.tasks` and `weft.tf1` are modules of their own. `weft.run_on_yarn()`
and the names with it are those of tf-yarn (`weft.tf_yarn`).
"""
from . import _weft
from ._weft import (Aborted, AlreadyExists, Barrier, Cancelled, DataLoss, DeadlineExceeded, Error,
                    FailedPrecondition, Internal, InvalidArgument, Item, NotFound, OutOfRange, PermissionDenied,
                    Queue, ResourceExhausted, Unauthenticated, Unavailable, Unimplemented, Unknown)
from ._slot import words
from .code import count

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from ._cluster import Cluster, Kv, Var, cluster, connect
    from .job import Result, TaskError, run
    from .tf_yarn import Metrics, NodeLabel, RunFailed, TaskSpec, run_on_yarn

__version__: str = _weft.version()
__all__ = [
    "Aborted", "AlreadyExists", "Barrier", "Cancelled", "Cluster", "DataLoss", "DeadlineExceeded", "Error",
    "FailedPrecondition", "Internal", "InvalidArgument", "Item", "Kv", "Metrics", "NodeLabel", "NotFound", "OutOfRange",
    "PermissionDenied", "Queue", "ResourceExhausted", "Result", "RunFailed", "TaskError", "TaskSpec", "Unauthenticated", "Unavailable", "Unimplemented",
    "Unknown", "Var", "__version__", "cluster", "connect",
    "count", "run", "run_on_yarn", "words",
]

# Found when they are first asked for: an interpreter that runs a job does not need them.
_LATER = {"Cluster": "_cluster", "Kv": "_cluster", "Var": "_cluster", "cluster": "_cluster", "connect": "_cluster",
          "Result": "job", "TaskError": "job", "run": "job",
          **dict.fromkeys(["Metrics", "NodeLabel", "RunFailed", "TaskSpec", "run_on_yarn"], "tf_yarn")}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    import importlib
    found = getattr(importlib.import_module("." + _LATER[name], __name__), name)
    globals()[name] = found
    return found


def __dir__():
    return __all__
