"""Where things are, the programs of this folder, and running them."""
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = Path(os.environ.get("WEFT_BUILD", ROOT / "build")).absolute()
CACHE = Path(os.environ.get("WEFT_BENCH_DIR", "/var/tmp/weft-bench")).absolute() / "hosts"
INTERNAL = ["-luv", "-lprotobuf-c", "-ljansson", "-lz", "-lzstd", "-llz4", "-lbz2", "-ldl", "-lm", "-lpthread"]
PUBLIC = [f"-L{BUILD}", "-lweft", f"-Wl,-rpath,{BUILD}"]

# What each program is made of, what it is linked with, and which package has that.
PROGRAMS = {
    "load": (["load.c"], [f"-I{ROOT}/src", str(BUILD / "internal/libweft_internal.a"), *INTERNAL], ""),
    "echo": (["echo.c"], [], ""),
    "pipe_weft": (["pipe.c", "pipe_weft.c"], PUBLIC, ""),
    "pipe_zmq": (["pipe.c", "pipe_zmq.c"], ["-lzmq"], "libzmq3-dev"),
    "pipe_redis": (["pipe.c", "pipe_redis.c"], ["-lhiredis"], "libhiredis-dev"),
    "pipe_amqp": (["pipe.c", "pipe_amqp.c", "amqp_end.c"], ["-lrabbitmq"], "librabbitmq-dev"),
    "work_weft": (["work.c", "work_weft.c"], PUBLIC, ""),
    "work_amqp": (["work.c", "work_amqp.c", "amqp_end.c"], ["-lrabbitmq"], "librabbitmq-dev"),
}


class Absent(Exception):
    """A peer that is not here; the sentence says what to install."""


class Failed(Exception):
    """Something that should have worked did not."""


failures = []


def say(text):
    print(text, file=sys.stderr, flush=True)


def prepare():
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (BUILD / "weft").exists():
        raise Failed(f"there is no {BUILD}/weft\n  try: make, or WEFT_BUILD=DIR")


def need(command, package):
    if not shutil.which(command):
        raise Absent(f"apt-get install {package}")


_compiled = {}


def program(name):
    """The path of one of our programs, compiled when it is first wanted in this run."""
    if name not in _compiled:
        sources, libraries, package = PROGRAMS[name]
        target = CACHE / name
        done = subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", f"-I{ROOT}/include", "-o", target,
                               *(HERE / source for source in sources), *libraries],
                              capture_output=True, text=True)
        if done.returncode and package:
            raise Absent(f"apt-get install {package}")
        if done.returncode:
            raise Failed(done.stderr)
        _compiled[name] = target
    return _compiled[name]


def run(name, *arguments, under=(), **env):
    """The numbers that a program prints, run under another command."""
    command = [*under, program(name), *map(str, arguments)]
    try:
        done = subprocess.run(command, env={**os.environ, "WEFT_TOKEN": token(), **env}, capture_output=True,
                              text=True, timeout=300)
    except subprocess.TimeoutExpired:
        raise Failed(f"{name} {' '.join(map(str, arguments))} takes too long") from None
    if done.returncode:
        raise Failed(f"{name} {' '.join(map(str, arguments))}: {done.stderr.strip()}")
    return [float(word) for word in done.stdout.split()]


def free_ports(count):
    """So many ports that are free now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def own_address():
    """An address of this machine that is not loopback; nothing is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
            return one.getsockname()[0]
        except OSError:
            raise Absent("this machine has no address but loopback, and TLS is not spoken there") from None


_token = os.urandom(16).hex()


def token():
    return _token
