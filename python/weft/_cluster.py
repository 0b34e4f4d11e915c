"""Clusters: programs that share queues, variables, maps and barriers.

A member of a cluster finds the others by TF_CONFIG:

    import weft
    with weft.cluster() as c:
        files = c.queue("/files/0/names")
        total = c.var("/reduce/0/total")
        for item in files:
            total.add(len(open(item.text).read().split()), item=item)

A program that is not a member uses the resources of a host (`weft host`):

    with weft.connect("localhost:18125") as c:
        c.queue("jobs").push("hello")
"""
from __future__ import annotations

import struct
from typing import Any, Iterator, Optional, Sequence, Tuple, Union

from . import _weft
from ._weft import Barrier, Item, Queue

Text = Union[str, bytes]

# Names of types: TensorFlow's number, size, letter of struct. Those of bytes have any size.
_TYPES = {"float32": (1, 4, "f"), "float64": (2, 8, "d"), "int32": (3, 4, "i"), "int64": (9, 8, "q"),
          "bool": (10, 1, "?"), "bytes": (7, None, None)}
_OF_VALUE = {bool: "bool", int: "int64", float: "float64", bytes: "bytes", str: "bytes"}
_ADD, _MIN, _MAX = 1, 2, 3
# Letters of struct and of buffers: which kind of number.
_KINDS = {**dict.fromkeys("hilqn", "signed"), **dict.fromkeys("HILQN", "unsigned"), **dict.fromkeys("efd", "real"), "?": "bool"}


class Var(_weft.Var):
    """A variable of a cluster: c.var(path).

    An int by default; also float64, int32, bool or bytes, or an array of float32, float64 or int64, whose values are
    numpy arrays where numpy is installed, and bytes where it is not.

        total = c.var("/reduce/0/total")
        total.add(3)
        print(total.get())
    """

    def __init__(self, cluster: "Cluster", path: str, value: Any = None, dtype: Optional[str] = None,
                 shape: Sequence[int] = (), unset: bool = False, timeout: Optional[float] = None) -> None:
        if dtype is None:
            dtype = _OF_VALUE.get(type(value), "int64") if not hasattr(value, "dtype") else str(value.dtype)
        if dtype not in _TYPES:
            raise ValueError(f"a variable cannot be of {dtype}; it can be of {', '.join(_TYPES)}")
        number, size, self._letter = _TYPES[dtype]
        if not shape and hasattr(value, "shape"):
            shape = value.shape
        self.dtype, self.shape = dtype, tuple(int(length) for length in shape)
        count = 1
        for length in self.shape:
            count *= length
        self._array_size = size * count if size and self.shape else None
        super().__init__(cluster, path, number, self.shape, size * count if size else -1,
                         None if value is None else self._pack(value), unset, timeout)

    def _pack(self, value: Any) -> Any:
        if self.shape:
            shape = getattr(value, "shape", None)
            if isinstance(shape, tuple) and not isinstance(value, memoryview) and shape != self.shape:
                raise ValueError(f"the array has the shape {shape}, and the variable {self.shape}")
            if hasattr(value, "dtype") and str(value.dtype) != self.dtype:
                value = value.astype(self.dtype)
            if not hasattr(value, "dtype") and not isinstance(value, (bytes, bytearray, memoryview)):
                flat = list(_flatten(value))
                value = struct.pack(f"<{len(flat)}{self._letter}", *flat)
            return value.tobytes() if hasattr(value, "tobytes") and not _is_plain(value) else value
        if self._letter is None:
            return value
        try:
            return struct.pack("<" + self._letter, value)
        except struct.error as error:
            kind = OverflowError if isinstance(value, (int, float)) and not (self._letter in "iq" and isinstance(value, float)) else TypeError
            raise kind(f"{value!r} is not a value of {self.dtype}: {error}") from None

    def _unpack(self, data: bytes) -> Any:
        if self.shape:
            try:
                import numpy  # type: ignore
            except ImportError:
                return data
            return numpy.frombuffer(data, dtype=self.dtype).reshape(self.shape)
        return data if self._letter is None else struct.unpack("<" + self._letter, data)[0]

    def get(self) -> Any:
        """The value now."""
        return self._unpack(self._read())

    def read(self, out: Any = None) -> Any:
        """The value now. With `out`, an array or another writable buffer of the same size, it is copied there, once."""
        if out is None:
            return self.get()
        given = memoryview(out)
        kind = given.format[-1:]
        if self._letter and kind not in "Bbc" and (_KINDS.get(kind), given.itemsize) != (_KINDS[self._letter], _TYPES[self.dtype][1]):
            raise TypeError(f"the variable is of {self.dtype}, and `out` has items of {given.itemsize} bytes of another type ({given.format!r})")
        return self._read(out)

    def set(self, value: Any) -> None:
        """Sets it."""
        self._write(self._pack(value))

    def add(self, value: Any, item: Optional[Item] = None) -> Any:
        """Adds atomically and returns the new value. With an item it adds once per item, however often that is delivered."""
        return self._unpack(self._accumulate(_ADD, self._pack(value), item))

    def min(self, value: Any, item: Optional[Item] = None) -> Any:
        """Sets it to the smaller one; returns the new value."""
        return self._unpack(self._accumulate(_MIN, self._pack(value), item))

    def max(self, value: Any, item: Optional[Item] = None) -> Any:
        """Sets it to the larger one; returns the new value."""
        return self._unpack(self._accumulate(_MAX, self._pack(value), item))

    def swap(self, expected: Any, value: Any) -> bool:
        """Sets it if its value is `expected`; returns whether it was."""
        return self._compare_write(self._pack(expected), self._pack(value))

    def __iter__(self) -> Iterator[Any]:
        """The value now, then each later one that is seen. Ends when no other member can change it any more."""
        while True:
            data = self._next()
            if data is None:
                return
            yield self._unpack(data)


def _is_plain(array: Any) -> bool:
    flags = getattr(array, "flags", None)
    return flags is not None and getattr(flags, "c_contiguous", False)


def _flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flatten(part)
    else:
        yield value


class Kv(_weft.Kv):
    """A small sorted map, for settings and addresses: c.kv(path).

        settings = c.kv("/reduce/0/settings")
        settings["rate"] = "0.1"
        print(settings["rate"])          # b'0.1'
        print(dict(settings.range()))    # {'rate': b'0.1'}
    """

    def get(self, key: Text, default: Any = None) -> Any:
        """The value of a key as bytes, or the default."""
        found = self._get(key)
        return default if found is None else found[0]

    def get_version(self, key: Text) -> Optional[Tuple[bytes, int]]:
        """(value, version) of a key, or None. The version is for put and remove."""
        found = self._get(key)
        return None if found is None else found[:2]

    def __getitem__(self, key: Text) -> bytes:
        found = self._get(key)
        if found is None:
            raise KeyError(key)
        return found[0]

    def __setitem__(self, key: Text, value: Text) -> None:
        self.put(key, value)

    def __delitem__(self, key: Text) -> None:
        if self._get(key) is None:
            raise KeyError(key)
        self.remove(key)

    def __iter__(self) -> Iterator[str]:
        """The keys, in order."""
        return (key for key, _ in self.range())

    def keys(self) -> Iterator[str]:
        """The keys, in order."""
        return iter(self)

    def items(self) -> Iterator[Tuple[str, bytes]]:
        """Keys and values, in order."""
        return iter(self.range())

    def __contains__(self, key: Text) -> bool:
        return self._get(key) is not None


class Cluster(_weft.Cluster):
    """A member of a cluster, or a program at a host. `with` leaves it at its end."""

    def queue(self, path: str, capacity: int = 0, *, capacity_bytes: int = 0, deliveries_max: int = 0,
              lease: Optional[float] = None, timeout: Optional[float] = None) -> Queue:
        """Opens a queue. Limits of 0 are none. After `deliveries_max` failures an element goes to the queue NAME.dead; an item that
        is not done within `lease` seconds goes to another member. `timeout`: of each call, in seconds."""
        return Queue(self, path, capacity, capacity_bytes, deliveries_max, lease, timeout)

    def var(self, path: str, value: Any = None, *, dtype: Optional[str] = None, shape: Sequence[int] = (),
            unset: bool = False, timeout: Optional[float] = None) -> Var:
        """Opens a variable; a new one has the value, or 0. `unset`: a new one has none, and reading it raises
        weft.FailedPrecondition until it is set."""
        return Var(self, path, value, dtype, shape, unset, timeout)

    def kv(self, path: str, timeout: Optional[float] = None) -> Kv:
        """Opens a map."""
        return Kv(self, path, timeout)

    def barrier(self, path: str, count: int = 0) -> Barrier:
        """Opens a barrier for `count` calls; 0: for as many as it has."""
        return Barrier(self, path, count)

    def is_role(self, role: str) -> bool:
        """Whether this member has the role."""
        return self.role == role

    def leave(self) -> int:
        """Waits until no other member uses the resources of this one, then leaves. Returns an exit code: not 0 if there was a
        failure. One that has not been raised before is raised now, such as an element that went to NAME.dead."""
        left = self._leave()
        if left is None:
            return 0
        code, sentence, was_raised = left
        if code and not was_raised:
            raise _weft.Error(sentence[6:] if sentence.startswith("weft: ") else sentence)
        return code

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.leave()
        else:
            self._leave()


def cluster(config: Optional[str] = None, *, journal: Optional[str] = None, token_file: Optional[str] = None,
            patience: Optional[float] = None) -> Cluster:
    """Joins the cluster that TF_CONFIG describes, or `config`. Other members may start later.

        with weft.cluster() as c:
            print(c.role, c.index)
    """
    return Cluster(config, journal, token_file, patience)


def connect(address: Optional[str] = None, *, token_file: Optional[str] = None,
            patience: Optional[float] = None) -> Cluster:
    """Uses the resources of a host without being a member. `address` is "HOST[:PORT][#TOKEN]"; by default WEFT_AT, or
    localhost. Nothing is connected before the first call.

        with weft.connect("localhost:18125") as c:
            c.queue("jobs").push("hello")
    """
    import os
    return Cluster(None, None, token_file, patience, address or os.environ.get("WEFT_AT") or "localhost")
