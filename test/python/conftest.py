"""What the tests share: a host of their own for each test file, and programs that run beside them."""
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time

import pytest
import weft


is_sanitized = "asan" in os.environ.get("LD_PRELOAD", "")


def free_ports(count):
    """Ports for programs that name theirs. None of them is of the range that the kernel gives to others (ip_local_port_range) between now and
    the moment when the program listens."""
    found = {}
    while len(found) < count:
        port = random.randrange(20000, 32000)
        try:
            found[port] = socket.create_server(("localhost", port))
        except OSError:
            pass
    for one in found.values():
        one.close()
    return list(found)


def free_port():
    return free_ports(1)[0]


def wait_for(process, text):
    """Until a line of its standard error has the text."""
    line = process.stderr.readline()
    while text not in line:
        assert line, f"it ended without {text!r}"
        line = process.stderr.readline()


class Host:
    """A `weft host` on a free port of this machine, or behind a directory with its journal."""

    def __init__(self, folder, *options):
        self.folder, self.options = folder, options
        self.start()

    def start(self, listen="localhost:0"):
        port_file = self.folder / "port"
        # It ends with us, however we end.
        tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        self.process = subprocess.Popen([*tied, "weft", "host", "-q", "--listen", listen, "--port-file", str(port_file),
                                         *self.options])
        deadline = time.monotonic() + 60
        while not port_file.exists() or not port_file.read_text().strip():
            assert self.process.poll() is None and time.monotonic() < deadline, "the host did not start"
            time.sleep(0.01)
        self.address = "localhost:" + port_file.read_text().strip()

    def restart(self):
        """Kills it and starts it again at the same port."""
        self.process.kill()
        self.process.wait()
        (self.folder / "port").unlink(missing_ok=True)
        self.start(self.address)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    started = Host(tmp_path_factory.mktemp("host"))
    yield started
    started.stop()


@pytest.fixture
def c(host):
    """A program at the host; each test uses names of its own."""
    cluster = weft.connect(host.address)
    yield cluster
    cluster.leave()


class Program:
    """A Python program in a process of its own."""

    def __init__(self, folder, text, *arguments, env=None, python=sys.executable):
        path = pathlib.Path(folder) / "program.py"
        path.write_text(textwrap.dedent(text))
        self.process = subprocess.Popen([python, str(path), *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})

    def read_line(self):
        return self.process.stdout.readline().rstrip("\n")

    def end(self, timeout=60):
        """(exit code, standard output, standard error)."""
        try:
            out, err = self.process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return self.process.returncode, out, err


@pytest.fixture
def program(tmp_path):
    started = []

    def start(text, *arguments, **options):
        folder = tmp_path / f"program{len(started)}"
        folder.mkdir()
        started.append(Program(folder, text, *arguments, **options))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()
        one.process.stdout.close()
        one.process.stderr.close()


# ---- Processes that a test starts by itself

@pytest.fixture
def ends():
    """Called with a process: it is killed at the end of the test, if that has left it."""
    begun = []
    yield begun.append
    for process in begun:
        if process.poll() is None:
            process.kill()
            process.wait()


# ---- Which other versions of Python took part (test_pythons.py)

tried = []


@pytest.fixture
def record_python():
    """Called with a version and why it is skipped, or None."""
    return lambda version, reason: tried.append(f"CPython {version}: " + (f"skipped, {reason}" if reason else "ran"))


def pytest_terminal_summary(terminalreporter):
    for line in tried:
        terminalreporter.write_line(line)
