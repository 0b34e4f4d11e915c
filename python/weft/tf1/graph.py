"""The graph: queues, variables, and the few operations on them. `Session.run` computes a node when it is asked to."""
from __future__ import annotations

import itertools
import json
import time
from typing import Any, Callable, Dict, List, Optional, Sequence

import weft

from . import errors, runtime

WAIT_S = 0.05  # between two looks for a variable's first value


class DType:
    """The type of a value."""

    def __init__(self, name: str, convert: Callable[[Any], Any], stored: str) -> None:
        self.name, self._convert, self.stored = name, convert, stored

    def convert(self, value: Any) -> Any:
        """The value as one of this type."""
        value = value.item() if hasattr(value, "item") else value
        return self._convert(value)

    def __repr__(self) -> str:
        return f"tf.{self.name}"


class Text(bytes):
    """The bytes of a tf.string, which print as their text."""

    def __str__(self) -> str:
        return self.decode("utf-8", "surrogateescape")

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


def _make_text(value: Any) -> Text:
    if isinstance(value, str):
        return Text(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, (bytes, bytearray)):
        return Text(value)
    raise errors.InvalidArgumentError(message=f"{value!r} is not a tf.string")


DTYPES = {"string": DType("string", _make_text, "bytes"), "bool": DType("bool", bool, "bool")}
for _name in ("int8", "int16", "int32", "int64", "uint8", "uint16"):
    DTYPES[_name] = DType(_name, int, "int64")
for _name in ("float16", "float32", "float64"):
    DTYPES[_name] = DType(_name, float, "float64")


def _dtype_of(value: Any) -> DType:
    kinds = {str: "string", bytes: "string", Text: "string", bool: "bool", int: "int32", float: "float32"}
    value = value.item() if hasattr(value, "item") else value
    if type(value) not in kinds:
        raise errors.InvalidArgumentError(message=f"weft.tf1 has no tensors: {value!r} is not one text or number")
    return DTYPES[kinds[type(value)]]


# ---- Nodes ---------------------------------------------------------------------------------------------------------

class Run:
    """One call of Session.run: each node is computed once."""

    def __init__(self, feed: Dict["Node", Any]) -> None:
        self.values: Dict[Node, Any] = dict(feed)

    def value(self, node: Any) -> Any:
        if not isinstance(node, Node):
            return node
        if node not in self.values:
            self.values[node] = node.compute(self)
        return self.values[node]


class Node:
    """Something that Session.run can compute."""
    name = ""

    def compute(self, run: Run) -> Any:
        raise NotImplementedError

    def __add__(self, other: Any) -> "Node":
        return Sum(self, other, 1)

    def __radd__(self, other: Any) -> "Node":
        return Sum(other, self, 1)

    def __sub__(self, other: Any) -> "Node":
        return Sum(self, other, -1)

    def __rsub__(self, other: Any) -> "Node":
        return Sum(other, self, -1)

    def __bool__(self) -> bool:
        raise TypeError("a node of the graph has no value before session.run computes it")


class Sum(Node):
    """left + right, or left - right."""

    def __init__(self, left: Any, right: Any, sign: int) -> None:
        self.left, self.right, self.sign = left, right, sign

    def compute(self, run: Run) -> Any:
        return run.value(self.left) + self.sign * run.value(self.right)


class Operation(Node):
    """A function of the run."""

    def __init__(self, function: Callable[[Run], Any], name: str = "") -> None:
        self._function, self.name = function, name

    def compute(self, run: Run) -> Any:
        try:
            return self._function(run)
        except weft.Error as error:
            raise errors.of(error) from None

    def run(self, feed_dict: Any = None, session: Optional["Session"] = None) -> None:
        (session or Session.default()).run(self, feed_dict)


class Placeholder(Node):
    def __init__(self, dtype: DType, name: Optional[str]) -> None:
        self.dtype, self.name = dtype, name or "Placeholder"

    def compute(self, run: Run) -> Any:
        raise errors.InvalidArgumentError(message=f"You must feed a value for placeholder tensor '{self.name}'")


class Constant(Node):
    def __init__(self, value: Any, dtype: Optional[DType]) -> None:
        self.dtype = dtype or _dtype_of(value)
        self._value = self.dtype.convert(value)

    def compute(self, run: Run) -> Any:
        return self._value


def placeholder(dtype: DType, shape: Any = None, name: Optional[str] = None) -> Placeholder:
    return Placeholder(dtype, name)


def constant(value: Any, dtype: Optional[DType] = None, shape: Any = None, name: Optional[str] = None) -> Constant:
    return Constant(value, dtype)


def add(x: Any, y: Any, name: Optional[str] = None) -> Node:
    return Sum(x, y, 1)


def subtract(x: Any, y: Any, name: Optional[str] = None) -> Node:
    return Sum(x, y, -1)


def group(*nodes: Any, **unused: Any) -> Operation:
    return Operation(lambda run: [run.value(node) for node in nodes] and None)


def no_op(name: Optional[str] = None) -> Operation:
    return Operation(lambda run: None)


def disable_eager_execution() -> None:
    """There is only the graph."""


# ---- Devices -------------------------------------------------------------------------------------------------------

_devices: List[str] = []
_numbers = itertools.count(1)


class device:
    """with tf.device('/job:files/task:0'): where resources live."""

    def __init__(self, name: Any) -> None:
        self._name = name or ""

    def __enter__(self) -> None:
        _devices.append(self._name)

    def __exit__(self, *unused: Any) -> None:
        _devices.pop()


def _place(name: Optional[str], kind: str) -> tuple:
    """(job, task, path) of a resource that is made now."""
    job, task = runtime.parse_device(_devices[-1] if _devices else "")
    if not job:
        own = runtime.member().cluster
        job, task = own.role, own.index
    return job, task, f"/{job}/{task}/{name or f'{kind}_{next(_numbers)}'}"


# ---- Queues --------------------------------------------------------------------------------------------------------

class FIFOQueue:
    """A queue that members share by its shared_name, on the device where it is made."""

    def __init__(self, capacity: int, dtypes: Any, shapes: Any = None, names: Any = None,
                 shared_name: Optional[str] = None, name: str = "fifo_queue") -> None:
        self._dtypes: List[DType] = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]
        self._capacity = max(capacity, 0)
        _, _, self._path = _place(shared_name, name)
        self.name = name
        if runtime._member is not None:
            self._queue()  # the member that hosts it makes it at once

    @property
    def dtypes(self) -> List[DType]:
        return list(self._dtypes)

    def _queue(self) -> weft.Queue:
        member = runtime.member()
        return member.open(("queue", self._path), lambda: member.cluster.queue(self._path, self._capacity))

    # An element of one tf.string is its bytes, any other one a list in JSON.
    def _encode(self, values: Sequence[Any]) -> bytes:
        if len(values) != len(self._dtypes):
            raise errors.InvalidArgumentError(message=f"{self._path} has elements of {len(self._dtypes)} components, not {len(values)}")
        converted = [dtype.convert(value) for dtype, value in zip(self._dtypes, values)]
        if len(converted) == 1 and isinstance(converted[0], Text):
            return converted[0]
        return json.dumps([str(value) if isinstance(value, Text) else value for value in converted]).encode()

    def _decode(self, data: bytes) -> Any:
        if len(self._dtypes) == 1 and self._dtypes[0].stored == "bytes":
            return Text(data)
        values = [dtype.convert(value) for dtype, value in zip(self._dtypes, json.loads(data))]
        return values[0] if len(values) == 1 else values

    def _components(self, run: Run, vals: Any) -> List[Any]:
        return [run.value(part) for part in vals] if isinstance(vals, (list, tuple)) else [run.value(vals)]

    def enqueue(self, vals: Any, name: Optional[str] = None) -> Operation:
        return Operation(lambda run: self._queue().push(self._encode(self._components(run, vals))))

    def enqueue_many(self, vals: Any, name: Optional[str] = None) -> Operation:
        def push(run: Run) -> None:
            columns = [run.value(column) for column in (vals if len(self._dtypes) > 1 else
                       vals if isinstance(vals, (list, tuple)) and len(vals) == 1 and
                       isinstance(vals[0], (list, tuple, Node)) else [vals])]
            for row in zip(*columns):
                self._queue().push(self._encode([run.value(part) for part in row]))
        return Operation(push)

    def _take(self) -> weft.Item:
        item = self._queue().take()
        if item is None:
            raise errors.OutOfRangeError(message=f"FIFOQueue '{self._path}' is closed and has insufficient elements "
                                         "(requested 1, current size 0)")
        runtime.member().held.append(item)
        return item

    def dequeue(self, name: Optional[str] = None) -> Operation:
        def take(run: Run) -> Any:
            runtime.member().finish_held()
            return self._decode(self._take().data)
        return Operation(take)

    def _dequeue_some(self, n: Any, up_to: bool) -> Operation:
        def take(run: Run) -> List[Any]:
            member, count = runtime.member(), int(run.value(n))
            member.finish_held()
            values: List[Any] = []
            while len(values) < count:
                try:
                    values.append(self._decode(self._take().data) if not values else self._decode(self._take_next()))
                except errors.OutOfRangeError:
                    if up_to and values:
                        break
                    held, member.held = member.held, []
                    for item in reversed(held):
                        item.give_back()
                    raise
            return values
        return Operation(take)

    def _take_next(self) -> bytes:
        """One more, while others are held: the queue is at its end when only those are left."""
        while True:
            item = self._queue().take_now()
            if item is not None:
                runtime.member().held.append(item)
                return item.data
            state = self._queue().look()
            if state["is_closed"] and not state["size"]:
                raise errors.OutOfRangeError(message=f"FIFOQueue '{self._path}' is closed and has insufficient elements")
            time.sleep(WAIT_S)

    def dequeue_many(self, n: Any, name: Optional[str] = None) -> Operation:
        return self._dequeue_some(n, False)

    def dequeue_up_to(self, n: Any, name: Optional[str] = None) -> Operation:
        return self._dequeue_some(n, True)

    def size(self, name: Optional[str] = None) -> Operation:
        return Operation(lambda run: self._queue().look()["size"])

    def is_closed(self, name: Optional[str] = None) -> Operation:
        return Operation(lambda run: self._queue().look()["is_closed"])

    def close(self, cancel_pending_enqueues: bool = False, name: Optional[str] = None) -> Operation:
        return Operation(lambda run: self._queue().cancel() if cancel_pending_enqueues else self._queue().close())


# ---- Variables -----------------------------------------------------------------------------------------------------

_variables: List["Variable"] = []


class Variable(Node):
    """A variable that members share by its name, on the device where it is made."""

    def __init__(self, initial_value: Any = None, trainable: bool = True, collections: Any = None,
                 validate_shape: bool = True, caching_device: Any = None, name: Optional[str] = None,
                 dtype: Optional[DType] = None, **unused: Any) -> None:
        if isinstance(initial_value, Constant):
            dtype, initial_value = dtype or initial_value.dtype, initial_value.compute(Run({}))
        self.dtype = dtype or _dtype_of(initial_value)
        self._initial = self.dtype.convert(initial_value)
        self._job, self._task, self._path = _place(name, "Variable")
        self.name = name or self._path.rpartition("/")[2]
        self._is_ready = False
        self._last: Any = None
        _variables.append(self)
        if runtime._member is not None:
            self._var()

    def _var(self) -> weft.Var:
        member = runtime.member()
        return member.open(("var", self._path), lambda: member.cluster.var(self._path, dtype=self.dtype.stored, unset=True))

    # Its first value is set once, by the member that comes first: making it again changes nothing.
    def _initialize(self) -> None:
        member = runtime.member()
        value = bytes(self._initial) if self.dtype.stored == "bytes" else self._initial
        member.open(("initial", self._path), lambda: member.cluster.var(self._path, value, dtype=self.dtype.stored)).get()

    def _await(self) -> weft.Var:
        var = self._var()
        while not self._is_ready:
            try:
                var.get()
                self._is_ready = True
            except weft.FailedPrecondition:
                time.sleep(WAIT_S)
        return var

    def _shown(self, value: Any) -> Any:
        return self.dtype.convert(value)

    def compute(self, run: Run) -> Any:
        member = runtime.member()
        try:
            if runtime.is_forever or not member.is_at(self._job, self._task):
                return self._shown(self._var().get())
            return self._shown(self._read_as_host(member))
        except weft.Error as error:
            raise errors.of(error) from None

    # The host of a variable reads it in a loop. It ends when it would show the same value again, and no other member
    # is left that could change it.
    def _read_as_host(self, member: runtime.Member) -> Any:
        watch = member.open(("watch", self._path), lambda: member.cluster.var(
            self._path, dtype=self.dtype.stored, unset=True, timeout=0.001))
        if self._last is None:
            self._var().get()  # raises when it has no value
        try:
            data = watch._next()
            if data is None:
                raise runtime.Ended
            self._last = watch._unpack(data)
        except weft.DeadlineExceeded:
            if self._last is None:
                return self._var().get()
        return self._last

    def _add(self, amount: Any) -> Any:
        var = self._await()
        return self._shown(var.add(self.dtype.convert(amount), item=runtime.member().item_for(self._path)))

    def assign_add(self, delta: Any, use_locking: bool = False, name: Optional[str] = None) -> Operation:
        return Operation(lambda run: self._add(run.value(delta)))

    def assign_sub(self, delta: Any, use_locking: bool = False, name: Optional[str] = None) -> Operation:
        return Operation(lambda run: self._add(-run.value(delta)))

    def assign(self, value: Any, use_locking: bool = False, name: Optional[str] = None) -> Operation:
        if isinstance(value, Sum) and value.left is self and not _uses(value.right, self):
            return Operation(lambda run: self._add(value.sign * run.value(value.right)))
        if isinstance(value, Sum) and value.right is self and value.sign == 1 and not _uses(value.left, self):
            return Operation(lambda run: self._add(run.value(value.left)))

        def set_value(run: Run) -> Any:
            new = self.dtype.convert(run.value(value))
            self._var().set(bytes(new) if self.dtype.stored == "bytes" else new)
            return new
        return Operation(set_value)

    @property
    def initializer(self) -> Operation:
        return Operation(lambda run: self._initialize())

    def read_value(self) -> Operation:
        return Operation(lambda run: self.compute(run))

    value = read_value


def _uses(node: Any, variable: Variable) -> bool:
    return node is variable or (isinstance(node, Sum) and (_uses(node.left, variable) or _uses(node.right, variable)))


def assign(ref: Variable, value: Any, validate_shape: Any = None, use_locking: Any = None,
           name: Optional[str] = None) -> Operation:
    return ref.assign(value)


def assign_add(ref: Variable, value: Any, use_locking: Any = None, name: Optional[str] = None) -> Operation:
    return ref.assign_add(value)


def assign_sub(ref: Variable, value: Any, use_locking: Any = None, name: Optional[str] = None) -> Operation:
    return ref.assign_sub(value)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    variables = list(var_list)

    def initialize(run: Run) -> None:
        for variable in variables:
            variable._initialize()
    return Operation(initialize)


def global_variables_initializer() -> Operation:
    return variables_initializer(_variables)


initialize_all_variables = global_variables_initializer


def is_variable_initialized(variable: Variable) -> Operation:
    def look(run: Run) -> bool:
        try:
            variable._var().get()
        except weft.FailedPrecondition:
            return False
        return True
    return Operation(look)


# ---- Sessions ------------------------------------------------------------------------------------------------------

class Session:
    """Computes nodes. `target` is that of the server in this process."""
    _entered: List["Session"] = []

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        self.target = target

    @classmethod
    def default(cls) -> "Session":
        if not cls._entered:
            raise ValueError("Cannot execute operation: no default session is registered")
        return cls._entered[-1]

    def run(self, fetches: Any, feed_dict: Optional[Dict[Any, Any]] = None, options: Any = None,
            run_metadata: Any = None) -> Any:
        feed = {node: node.dtype.convert(value) if isinstance(node, Placeholder) else value
                for node, value in (feed_dict or {}).items()}
        return self._fetch(fetches, Run(feed))

    def _fetch(self, fetches: Any, run: Run) -> Any:
        if isinstance(fetches, (list, tuple)):
            return type(fetches)(self._fetch(part, run) for part in fetches)
        if isinstance(fetches, dict):
            return {name: self._fetch(part, run) for name, part in fetches.items()}
        if not isinstance(fetches, Node):
            raise TypeError(f"session.run cannot fetch {fetches!r}")
        return run.value(fetches)

    def close(self) -> None:
        """The member stays in its cluster until the program ends."""

    def __enter__(self) -> "Session":
        self._entered.append(self)
        return self

    def __exit__(self, *unused: Any) -> None:
        self._entered.pop()


