"""tf_yarn.pytorch: a model that DistributedDataParallel trains, described by a PytorchExperiment."""
from typing import Any, Callable, NamedTuple, Optional

from .. import Metrics, NodeLabel, RunFailed, TaskSpec, get_safe_experiment_fn
from ..client import run_on_yarn as run_anywhere

__all__ = ["DataLoaderArgs", "DistributedDataParallelArgs", "Metrics", "NodeLabel", "PytorchExperiment", "RunFailed", "TaskSpec",
           "get_safe_experiment_fn", "run_on_yarn"]


class DataLoaderArgs(NamedTuple):
    """The arguments of the DataLoader that each rank reads."""
    batch_size: Optional[int] = 1
    num_workers: int = 0
    pin_memory: bool = False
    drop_last: bool = True
    timeout: float = 0
    prefetch_factor: Optional[int] = 2
    shuffle: bool = False
    persistent_workers: bool = False
    collate_fn: Optional[Callable[..., Any]] = None


class DistributedDataParallelArgs(NamedTuple):
    """Arguments of DistributedDataParallel."""
    broadcast_buffers: bool = True
    bucket_cap_mb: int = 25
    find_unused_parameters: bool = False
    gradient_as_bucket_view: bool = False


class PytorchExperiment(NamedTuple):
    """What an experiment_fn returns: each rank calls main_fn(model, loader, device, rank, tb_writer)."""
    model: Any
    main_fn: Callable[..., Any]
    train_dataset: Any
    dataloader_args: DataLoaderArgs = DataLoaderArgs()
    tensorboard_hdfs_dir: Optional[str] = None
    ddp_args: Optional[DistributedDataParallelArgs] = None


def run_on_yarn(*first, **named):
    """As weft.tf_yarn.run_on_yarn, for functions that return a PytorchExperiment."""
    named.setdefault("custom_task_module", "tf_yarn.pytorch.tasks.worker")
    return run_anywhere(*first, **named)
