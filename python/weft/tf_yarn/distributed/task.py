"""tf_yarn.distributed.task: which part of the work is this process's."""
import os
from typing import NamedTuple

from ..task import get_task_key

__all__ = ["TaskParameters", "get_task"]


class TaskParameters(NamedTuple):
    """The place of a process among the others."""
    task_type: str
    rank: int
    world_size: int
    master_addr: str
    master_port: int
    n_workers_per_executor: int


def get_task(local_rank: int = 0) -> TaskParameters:
    """(task_type, rank, world_size, master_addr, master_port, n_workers_per_executor) of this process.

    All of them also are variables of the environment, RANK and the like. `local_rank` is not needed: each rank is a process of its own.
    """
    return TaskParameters(get_task_key().type, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), os.environ["MASTER_ADDR"],
                          int(os.environ["MASTER_PORT"]), int(os.environ["LOCAL_WORLD_SIZE"]))
