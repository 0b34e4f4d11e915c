"""The process as a member: its cluster, the items that it holds, and how it ends."""
from __future__ import annotations

import json
import os
import time
from typing import Any, Dict, List, Optional, Tuple

import weft

from . import errors

# A member that is started by hand may come much later than the first one.
PATIENCE_S = 3600.0


class ClusterSpec:
    """The addresses of all members by job."""

    def __init__(self, cluster: Any) -> None:
        self._jobs = cluster.as_dict() if isinstance(cluster, ClusterSpec) else dict(cluster)

    def as_dict(self) -> Dict[str, Any]:
        return dict(self._jobs)

    @property
    def jobs(self) -> List[str]:
        return sorted(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        return len(self._jobs[job_name])

    def job_tasks(self, job_name: str) -> List[str]:
        return list(self._jobs[job_name])

    def __bool__(self) -> bool:
        return bool(self._jobs)


class RunConfig:
    """What TF_CONFIG says: cluster_spec, task_type, task_id."""

    def __init__(self, *unused: Any, **also_unused: Any) -> None:
        text = os.environ.get("TF_CONFIG")
        if not text:
            raise errors.InvalidArgumentError(message="TF_CONFIG is not set: it describes the cluster\n"
                                              "  try: weft cluster config, or weft cluster run")
        config = json.loads(text)
        task = config.get("task", {})
        self.cluster_spec = ClusterSpec(config.get("cluster", {}))
        self.task_type: Optional[str] = task.get("type")
        self.task_id = int(task.get("index", 0))


class Member:
    """This process. There is one, made by tf.train.Server."""

    def __init__(self, config: str) -> None:
        patience = None if "WEFT_PATIENCE" in os.environ else PATIENCE_S
        self.cluster = weft.cluster(config, patience=patience)
        self.held: List[weft.Item] = []  # dequeued, and not finished
        self.added: set = set()          # variables to which the held item was added
        self.resources: Dict[Any, Any] = {}

    def open(self, key: Any, make: Any) -> Any:
        """A handle, opened once."""
        if key not in self.resources:
            self.resources[key] = make()
        return self.resources[key]

    def finish_held(self) -> None:
        """The program is done with the elements that it has dequeued."""
        items, self.held = self.held, []
        self.added = set()
        for item in items:
            try:
                item.done()
            except weft.Aborted:  # another member has it by now; nothing counts twice
                pass

    def item_for(self, path: str) -> Optional[weft.Item]:
        """The item that an addition carries: the first one to each variable, if one element is held."""
        if len(self.held) != 1 or path in self.added:
            return None
        self.added.add(path)
        return self.held[0]

    def is_at(self, job: str, task: int) -> bool:
        return self.cluster.role == job and self.cluster.index == task


class Ended(SystemExit):
    """The program has nothing left to do."""

    def __init__(self) -> None:
        super().__init__(0)


is_forever = False
_member: Optional[Member] = None


def member() -> Member:
    if _member is None:
        raise errors.FailedPreconditionError(message="there is no tf.train.Server in this program yet: weft.tf1 runs members of a cluster")
    return _member


class Server:
    """Joins the cluster."""

    def __init__(self, server_or_cluster_def: Any, job_name: Optional[str] = None, task_index: Optional[int] = None,
                 protocol: Optional[str] = None, config: Any = None, start: bool = True) -> None:
        global _member
        spec = ClusterSpec(server_or_cluster_def)
        job = job_name if job_name is not None else spec.jobs[0]
        index = task_index or 0
        addresses = spec.as_dict().get(job)
        if addresses is None or not 0 <= index < len(addresses):
            raise errors.InvalidArgumentError(message=f"the cluster has no /job:{job}/task:{index}")
        if _member is not None:
            raise errors.InvalidArgumentError(message="this process has a tf.train.Server already")
        text = json.dumps({"cluster": spec.as_dict(), "task": {"type": job, "index": index}})
        try:
            _member = Member(text)
        except weft.Error as error:
            raise errors.of(error) from None
        self.target = f"grpc://{addresses[index]}"
        self.server_def = None

    def start(self) -> None:
        """It has started."""

    def join(self) -> None:
        """Stays until no other member uses this one's resources, and ends the program."""
        while is_forever:
            time.sleep(3600)
        raise Ended


def end(finishes: bool) -> None:
    """Leaves the cluster. Items that were dequeued last are finished, or go back."""
    global _member
    if _member is None:
        return
    ended, _member = _member, None
    if finishes:
        ended.finish_held()
    ended.held = []
    ended.resources.clear()
    ended.cluster._leave()


def parse_device(name: str) -> Tuple[str, int]:
    """("files", 0) of "/job:files/task:0" or "/files/0"."""
    job, task = "", 0
    parts = [part for part in name.split("/") if part]
    for part in parts:
        key, _, value = part.partition(":")
        if key == "job":
            job = value
        elif key == "task":
            task = int(value)
    if not job and len(parts) == 2 and parts[1].isdigit():
        job, task = parts[0], int(parts[1])
    return job, task
