"""Programs for the clusters of TensorFlow 1, without TensorFlow.

    python -m weft.tf1 [--forever] count.py [ARGUMENT...]

runs a program that shares queues and variables by TensorFlow's names: `import tensorflow as tf` gives this module. It has
what such programs need, and no tensors. Where TensorFlow would lose something, this does not:

- `dequeue` takes a lease. The element is finished when the program asks for the next one, or ends well; if the process
  dies before, another member gets it.
- `assign(v, v + x)` is one atomic addition. The first addition to a variable after a dequeue counts once per element,
  however often that is delivered. So the total is exact.
- An addition waits until the variable has its first value, which is set only once.
- Programs end: an OutOfRangeError that is not caught ends with 0, `server.join()` leaves the cluster when no other member
  uses this one's resources, and a member that only reads its own variable ends when all members that could change it have left. With
  --forever the last two continue like TensorFlow's.
"""
from __future__ import annotations

import sys
import types
from typing import Any, Dict

from . import graph, runtime
from .errors import ERRORS


class Namespace(types.ModuleType):
    """A module that says what it has when it is asked for something else."""

    def __init__(self, name: str, content: Dict[str, Any]) -> None:
        super().__init__(name)
        self.__dict__.update(content)
        self._names = sorted(content)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        path = self.__name__.replace("tensorflow", "tf", 1)
        raise AttributeError(f"weft.tf1 has no {path}.{name}; it has {', '.join(self._names)}")


def make_modules() -> Dict[str, Namespace]:
    """The modules that stand for TensorFlow, by their names."""
    names: Dict[str, Any] = {name: dtype for name, dtype in graph.DTYPES.items()}
    for name in ("Session", "FIFOQueue", "Variable", "device", "placeholder", "constant", "assign", "assign_add",
                 "assign_sub", "global_variables_initializer", "initialize_all_variables", "is_variable_initialized",
                 "variables_initializer", "add", "subtract", "group", "no_op", "disable_eager_execution"):
        names[name] = getattr(graph, name)
    names["errors"] = Namespace("tensorflow.errors", ERRORS)
    names["train"] = Namespace("tensorflow.train", {"Server": runtime.Server, "ClusterSpec": runtime.ClusterSpec})
    learn = Namespace("tensorflow.contrib.learn", {"RunConfig": runtime.RunConfig})
    names["contrib"] = Namespace("tensorflow.contrib", {"learn": learn})
    names["logging"] = Namespace("tensorflow.logging", {
        "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50, "set_verbosity": lambda level: None})
    v1 = Namespace("tensorflow.compat.v1", names)
    compat = Namespace("tensorflow.compat", {"v1": v1})
    top = Namespace("tensorflow", {**names, "compat": compat, "__version__": "1.15.0"})
    top._names = [name for name in top._names if not name.startswith("_")]
    return {"tensorflow": top, "tensorflow.compat": compat, "tensorflow.compat.v1": v1,
            "tensorflow.contrib": names["contrib"], "tensorflow.contrib.learn": learn}


def install() -> None:
    """From now on `import tensorflow` gives this module."""
    sys.modules.update(make_modules())
