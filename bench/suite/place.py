"""Where things are and how the run is set up: folders, sizes, the environment's wishes."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
RESULTS = BENCH / "results"
CACHE = Path(os.environ.get("WEFT_BENCH_DIR", "/var/tmp/weft-bench")).absolute()
BIN = CACHE / "bin"
TEMP = CACHE / "tmp"  # spills of all programs, and their outputs
WEFT = Path(os.environ.get("WEFT", ROOT / "build" / "weft")).absolute()

MB = int(os.environ.get("WEFT_BENCH_MB", "1024"))
ROUNDS = int(os.environ.get("WEFT_BENCH_ROUNDS", "5"))
QUIET_SECONDS = float(os.environ.get("WEFT_BENCH_QUIET", "3"))
ROW_PATTERN = re.compile(os.environ.get("WEFT_BENCH_ROWS", ""))
PROBES = os.environ.get("WEFT_PROBES", "")
HADOOP = os.environ.get("WEFT_HADOOP", "/var/tmp/weft-hadoop-3.4.2")  # test/streaming/record
# All programs get the same cores, two unless asked otherwise, however many the machine has.
CORES = int(os.environ.get("WEFT_BENCH_CORES", "2"))
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
CORES = len(os.sched_getaffinity(0))


class Absent(Exception):
    """A program or a set of data that cannot be had here; the sentence says why."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def file_system_of(folder):
    """The type of the file system that holds the folder, from the longest fitting mount point."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        mount, mount_kind = line.split()[1:3]
        if (str(folder) + "/").startswith(mount.rstrip("/") + "/") and len(mount) >= len(best):
            best, kind = mount, mount_kind
    return kind


def prepare_cache():
    """Makes the cache folder; refuses one in memory, where a spill would cost what it saves."""
    if file_system_of(CACHE.resolve()) in ("tmpfs", "ramfs"):
        sys.exit(f"bench: {CACHE} is in memory\n  try: WEFT_BENCH_DIR=DIR on a disk")
    for folder in (CACHE, BIN, TEMP, RESULTS):
        folder.mkdir(parents=True, exist_ok=True)


def room_for(size):
    free = shutil.disk_usage(CACHE).free
    if free < size + (2 << 30):
        raise Absent(f"{size >> 20} MiB do not fit in {CACHE}, {free >> 20} MiB are free")


def compile_c(source, *options, name=None):
    """Compiles one C file into the cache, unless it is there and younger; returns its path."""
    target = BIN / (name or Path(source).stem)
    if target.exists() and target.stat().st_mtime > Path(source).stat().st_mtime:
        return target
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        raise Absent("no C compiler")
    command = [compiler, "-o", target, source, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or ["it failed"]
        raise Absent(f"{Path(source).name} does not compile: {lines[0]}")
    return target


def own_tool(name):
    """One of our own C programs in this folder."""
    return compile_c(BENCH / f"{name}.c", "-std=gnu17", "-O2", "-pthread", "-lm")


def first_line(*command):
    """The first line a command prints, for the list of versions."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return "absent"
    return (done.stdout or done.stderr).strip().split("\n")[0]
