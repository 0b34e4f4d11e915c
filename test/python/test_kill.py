"""kill -9 of interpreters and workers at random moments: the same bytes, every time. WEFT_LONG: 50 runs instead of 5."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import pytest

RUNS = 50 if os.environ.get("WEFT_LONG") else 5
SCRIPTS = {
    "sum": "def mapfn(line):\n    for word in line.split(): yield word, 1\nfold = sum\n",
    "reduce": "def mapfn(line):\n    for word in line.split(): yield word, len(line)\n"
              "def reducefn(key, values): return len(values), sum(values)\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    draw = random.Random(7)
    (folder / "text").write_text("".join(
        " ".join(f"w{draw.randrange(3000)}" for _ in range(10)) + "\n" for _ in range(20000)))
    for name, text in SCRIPTS.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def start(folder, name):
    return subprocess.Popen(["weft", "run", "-q", "--slots", "2", "--lines-per-task", "500", "--max-attempts", "10", f"{name}.py", "text"],
                            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env={**os.environ, "WEFT_PYTHON": sys.executable})


def below(pid):
    """All processes that a process has started, and those of them."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            found += [int(child), *below(child)]
    return found


def is_python(pid):
    try:
        return b"weft.slot" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def await_interpreter(driver):
    """A busy machine takes its time to start one; moments are drawn from there on."""
    while driver.poll() is None and not any(is_python(pid) for pid in below(driver.pid)):
        time.sleep(0.005)


def kill_one(driver, draw):
    """Kills an interpreter, now and then the worker; False: there was none."""
    others = below(driver.pid)
    pythons = [pid for pid in others if is_python(pid)]
    if not pythons:
        return False
    victim = others[0] if draw.random() < 0.2 else draw.choice(pythons)
    try:
        os.kill(victim, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def test_the_same_bytes_whatever_is_killed(place):
    expected = {name: start(place, name).communicate(timeout=120)[0] for name in SCRIPTS}
    assert all(text.count(b"\n") == 3000 for text in expected.values())
    seed = int(os.environ.get("WEFT_SEED") or random.randrange(2**32))
    draw, killed, number, pause = random.Random(seed), 0, 0, 0.15
    # A fast job on a busy machine can end before its moment comes: then the next moments are earlier, and runs are added.
    while number < RUNS or killed < RUNS and pause > 1e-6:
        name = list(SCRIPTS)[number % 2]
        driver = start(place, name)
        await_interpreter(driver)
        before = killed
        for _ in range(draw.randrange(1, 4)):
            time.sleep(draw.random() * pause)
            killed += kill_one(driver, draw)
        out, err = driver.communicate(timeout=120)
        assert driver.returncode == 0 and out == expected[name], f"WEFT_SEED={seed}, run {number} of {name}: {err.decode()}"
        number += 1
        if killed == before:
            pause /= 2
    print(f"{killed} processes were killed")
    assert killed > 0
