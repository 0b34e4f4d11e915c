"""Results that wait for a script's `final`: kept until it has returned for every key.

One file of pairs for each script, in ${XDG_CACHE_HOME:-~/.cache}/weft/final. A final that raises, or whose process is
killed, leaves it there, and `weft run --final SCRIPT` calls final again without the job.
"""
import os
import time

DAYS = 30  # results that were not asked for are removed after that time


def folder():
    """Where results are kept, for this user alone; None where there is no such place."""
    cache, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if not cache.startswith("/"):
        cache = os.path.join(home, ".cache") if home else None
    if cache is None:
        return None
    place = os.path.join(cache, "weft", "final")
    try:
        os.makedirs(place, mode=0o700, exist_ok=True)
        status = os.lstat(place)
        if not os.path.isdir(place) or os.path.islink(place) or status.st_uid != os.geteuid():
            return None
        os.chmod(place, 0o700)
    except OSError:
        return None
    return place


def name_of(script):
    """The name of a script's file: its own one for people, the hash of its path to be unique."""
    import hashlib
    path = os.path.realpath(script)
    return f"{os.path.basename(path)}-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def prune(place):
    oldest = time.time() - DAYS * 86400
    for name in os.listdir(place):
        path = os.path.join(place, name)
        try:
            if os.lstat(path).st_mtime < oldest:
                os.unlink(path)
        except OSError:
            pass


class Kept:
    """The kept results of one script."""

    def __init__(self, script):
        self.place = folder()
        self.path = os.path.join(self.place, name_of(script)) if self.place else None

    def new_path(self):
        """Where a job may write its pairs; None: nothing can be kept here."""
        if self.place is None:
            return None
        prune(self.place)
        path = f"{self.path}.{os.getpid()}"
        if os.path.lexists(path):
            os.unlink(path)  # of a process that had our number
        return path

    def take(self, result):
        """The pairs of a job that has ended replace those kept of an earlier one."""
        os.rename(result.path, self.path)
        result.path = self.path

    def open(self):
        """The kept Result, or None."""
        from .job import Result
        if self.path is None or not os.path.isfile(self.path):
            return None
        return Result(self.path, {})

    def drop(self, result):
        """final has returned for every key. Another run may have kept its own results in the meantime: those stay."""
        try:
            if os.path.samestat(os.fstat(result.fileno()), os.lstat(self.path)):
                os.unlink(self.path)
        except OSError:
            pass


def offer(script):
    """The last lines of the failure of final."""
    import shlex
    return ["  the results are kept", f"  try: weft run --final {shlex.quote(script)}, which calls final alone"]
