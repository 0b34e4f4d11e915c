"""tf_yarn.distributed.client."""
from . import run_on_yarn

__all__ = ["run_on_yarn"]
