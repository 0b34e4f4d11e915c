"""Weft for Python: clusters of cooperating programs, and MapReduce.

    import weft
    print(weft.__version__)
"""
from . import _weft
from ._weft import (Aborted, AlreadyExists, Cancelled, DataLoss, DeadlineExceeded, Error, FailedPrecondition,
                    Internal, InvalidArgument, NotFound, OutOfRange, PermissionDenied, ResourceExhausted,
                    Unauthenticated, Unavailable, Unimplemented, Unknown)
from .code import count

__version__: str = _weft.version()
__all__ = ["Aborted", "AlreadyExists", "Cancelled", "DataLoss", "DeadlineExceeded", "Error",
           "FailedPrecondition", "Internal", "InvalidArgument", "NotFound", "OutOfRange", "PermissionDenied",
           "ResourceExhausted", "Unauthenticated", "Unavailable", "Unimplemented", "Unknown", "__version__", "count"]
