"""TensorFlow's exceptions, made of weft's."""
from __future__ import annotations

from typing import Any, Dict, Type

import weft


class OpError(Exception):
    """An operation failed."""
    error_code = 2

    def __init__(self, node_def: Any = None, op: Any = None, message: str = "", error_code: Any = None) -> None:
        super().__init__(message)
        self.node_def, self.op, self.message = node_def, op, message
        if error_code is not None:
            self.error_code = error_code


def _make(name: str, code: int) -> Type[OpError]:
    return type(name, (OpError,), {"error_code": code, "__doc__": f"TensorFlow's error {code}."})


_OF_CODE = {code: _make(name, code) for code, name in enumerate(
    ["CancelledError", "UnknownError", "InvalidArgumentError", "DeadlineExceededError", "NotFoundError",
     "AlreadyExistsError", "PermissionDeniedError", "ResourceExhaustedError", "FailedPreconditionError",
     "AbortedError", "OutOfRangeError", "UnimplementedError", "InternalError", "UnavailableError",
     "DataLossError", "UnauthenticatedError"], 1)}
ERRORS: Dict[str, Any] = {"OpError": OpError, **{error.__name__: error for error in _OF_CODE.values()}}
OutOfRangeError = ERRORS["OutOfRangeError"]
FailedPreconditionError = ERRORS["FailedPreconditionError"]
InvalidArgumentError = ERRORS["InvalidArgumentError"]


def of(error: weft.Error) -> OpError:
    """The exception that TensorFlow has for one of ours."""
    return _OF_CODE.get(error.code or 0, OpError)(message=str(error))
