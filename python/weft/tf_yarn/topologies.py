"""Task types and their resources: TaskSpec, NodeLabel, and the two ready-made sets."""
import difflib
import enum
import math
import re
from typing import Any, Dict, Optional, Union

GB = 2 ** 10  # memory is counted in MiB
MAX_MEMORY_CONTAINER = 48 * GB
MAX_VCORES_CONTAINER = 48
ALL_TASK_TYPES = ("chief", "worker", "ps", "evaluator", "tensorboard")
_UNITS = {"": 2 ** 20, "b": 1, "kb": 10 ** 3, "mb": 10 ** 6, "gb": 10 ** 9, "tb": 10 ** 12,
          "kib": 2 ** 10, "mib": 2 ** 20, "gib": 2 ** 30, "tib": 2 ** 40}


class NodeLabel(enum.Enum):
    """Which nodes a task may have: any, or those with the label "gpu". A launcher without labels refuses the latter."""
    CPU = ""
    GPU = "gpu"


def memory_in_mib(memory: Union[int, str]) -> int:
    """2048, "2048", "2 GiB" and "2048 MiB" are the same. Rounded up."""
    if isinstance(memory, bool) or not isinstance(memory, (int, str)):
        raise TypeError(f'memory is {memory!r}: try a number of MiB, or a text such as "2 GiB"')
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", str(memory).lower())
    if not found or found[2] not in _UNITS:
        raise ValueError(f'memory is {memory!r}: try a number of MiB, or a text such as "2 GiB"')
    mib = math.ceil(float(found[1]) * _UNITS[found[2]] / 2 ** 20)
    if mib < 1:
        raise ValueError(f"memory is {memory!r}: a task needs at least 1 MiB")
    return mib


def _count(name: str, value: Any, minimum: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is {value!r}: a whole number is expected")
    if value < minimum:
        raise ValueError(f"{name} is {value}: it is at least {minimum}")
    return value


class TaskSpec:
    """The resources of a task type.

        TaskSpec(memory="2 GiB", vcores=4, instances=2)

    `memory` and `vcores` are those of each instance. `nb_proc_per_worker` processes run at each instance, with a rank each. `gpus`, which
    tf-yarn does not have, is how many GPUs each instance gets. The names with tb_ are for the task type tensorboard.
    """

    def __init__(self, memory: Union[int, str], vcores: int, instances: int = 1, nb_proc_per_worker: int = 1,
                 label: NodeLabel = NodeLabel.CPU, tb_termination_timeout_seconds: int = -1,
                 tb_model_dir: Optional[str] = None, tb_extra_args: Optional[str] = None, *, gpus: Optional[int] = None) -> None:
        self.memory = memory  # type: ignore[assignment]
        self.vcores = _count("vcores", vcores, 1)
        self.instances = _count("instances", instances, 0)
        self.nb_proc_per_worker = _count("nb_proc_per_worker", nb_proc_per_worker, 1)
        self.label = NodeLabel(label)
        self.tb_termination_timeout_seconds = tb_termination_timeout_seconds
        self.tb_model_dir = tb_model_dir
        self.tb_extra_args = tb_extra_args
        self.gpus = None if gpus is None else _count("gpus", gpus, 0)

    @property
    def memory(self) -> int:
        """In MiB."""
        return self._memory

    @memory.setter
    def memory(self, memory: Union[int, str]) -> None:
        self._memory = memory_in_mib(memory)

    def __repr__(self) -> str:
        return f"TaskSpec(memory={self.memory}, vcores={self.vcores}, instances={self.instances})"


def check_task_specs(task_specs: Any) -> None:
    """Raises ValueError or TypeError for task specs that cannot be meant."""
    if not isinstance(task_specs, dict) or not task_specs:
        raise TypeError('task_specs is not a dict of task types: try {"chief": TaskSpec(memory="2 GiB", vcores=2)}')
    for name, spec in task_specs.items():
        if name not in ALL_TASK_TYPES:
            near = difflib.get_close_matches(str(name), ALL_TASK_TYPES, 1)
            raise ValueError(f"{name!r} is not a task type; these are {', '.join(ALL_TASK_TYPES)}"
                             + (f"\n  did you mean {near[0]}?" if near else ""))
        if not isinstance(spec, TaskSpec):
            raise TypeError(f"task_specs[{name!r}] is {spec!r}: a TaskSpec of weft is expected")
        if spec.nb_proc_per_worker > spec.vcores:
            raise ValueError(f"{name}: {spec.nb_proc_per_worker} processes would share {spec.vcores} vcores")
    for name in "chief", "tensorboard":
        if name in task_specs and task_specs[name].instances > 1:
            raise ValueError(f"{name}: no more than one instance is allowed")
    if "tensorboard" in task_specs and task_specs["tensorboard"].nb_proc_per_worker > 1:
        raise ValueError("tensorboard: it has one process")
    if not any(spec.instances for spec in task_specs.values()):
        raise ValueError("task_specs has no instance")


def single_server_topology(memory: Union[int, str] = MAX_MEMORY_CONTAINER, vcores: int = MAX_VCORES_CONTAINER) -> Dict[str, TaskSpec]:
    """A chief alone. tf-yarn adds an evaluator and a tensorboard, which Estimators needed."""
    return {"chief": TaskSpec(memory=memory, vcores=vcores)}


def ps_strategy_topology(nb_workers: int = 2, nb_ps: int = 1, memory: Union[int, str] = MAX_MEMORY_CONTAINER,
                         vcores: int = MAX_VCORES_CONTAINER) -> Dict[str, TaskSpec]:
    """A chief, workers and parameter servers. tf-yarn adds an evaluator and a tensorboard, which Estimators needed."""
    if nb_ps < 1:
        raise ValueError("parameter servers: at least one is needed")
    return {"chief": TaskSpec(memory=memory, vcores=vcores),
            "worker": TaskSpec(memory=memory, vcores=vcores, instances=nb_workers),
            "ps": TaskSpec(memory=memory, vcores=vcores, instances=nb_ps)}
