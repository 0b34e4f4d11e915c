"""Arguments and results as JSON. Times, Decimal, UUID and bytes are objects with two names, as Celery writes them, and come back as they were."""
from __future__ import annotations

import base64
import datetime
import decimal
import json
import uuid
from typing import Any, Callable, Dict, Tuple

# Class: its name, to text, from text. A datetime is a date, too, and comes first.
KINDS: Dict[type, Tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    datetime.datetime: ("datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat),
    datetime.date: ("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: ("time", datetime.time.isoformat, datetime.time.fromisoformat),
    decimal.Decimal: ("decimal", str, decimal.Decimal),
    uuid.UUID: ("uuid", str, uuid.UUID),
    bytes: ("bytes", lambda data: base64.b64encode(data).decode(), base64.b64decode),
}
READERS = {name: read for name, _, read in KINDS.values()}


def _describe(value: Any) -> Dict[str, str]:
    for kind, (name, write, _) in KINDS.items():
        if isinstance(value, kind):
            return {"__type__": name, "__value__": write(value)}
    raise TypeError(f"{value!r} is not JSON")


def _read(found: Dict[str, Any]) -> Any:
    read = READERS.get(found.get("__type__", "")) if found.keys() == {"__type__", "__value__"} else None
    return read(found["__value__"]) if read else found


def dumps(value: Any) -> str:
    """As json.dumps; TypeError or ValueError for what has no text."""
    return json.dumps(value, default=_describe)


def loads(text: Any) -> Any:
    """As json.loads."""
    return json.loads(text, object_hook=_read)
