"""The interface of mincemeat.py 0.1.4, on top of Weft: see weft.mincemeat."""
from weft.mincemeat import DEFAULT_PORT, VERSION, Client, Server, run_client

__all__ = ["DEFAULT_PORT", "VERSION", "Client", "Server", "run_client"]
