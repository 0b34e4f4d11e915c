"""weft.run() in a real Jupyter kernel. The packages for it come from PyPI into build/jupyter, with WEFT_LONG; later runs use them."""
import json
import os
import pathlib
import subprocess
import sys

import pytest
import weft

PLACE = pathlib.Path(os.environ.get("WEFT_JUPYTER") or pathlib.Path(__file__).resolve().parents[2] / "build" / "jupyter")
DRIVER = """\
import json, os, sys
from jupyter_client.manager import start_new_kernel

manager, client = start_new_kernel(kernel_name="python3", env=os.environ)
answers = []
try:
    for cell in json.load(sys.stdin):
        said = {"stdout": "", "stderr": "", "result": "", "error": ""}
        def take(message):
            content, kind = message["content"], message["header"]["msg_type"]
            if kind == "stream":
                said[content["name"]] += content["text"]
            elif kind == "execute_result":
                said["result"] = content["data"]["text/plain"]
            elif kind == "error":
                said["error"] = content["ename"] + ": " + content["evalue"]
        client.execute_interactive(cell, timeout=60, output_hook=take)
        answers.append(said)
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def jupyter():
    python = PLACE / "bin" / "python"
    ready = PLACE / "ready"
    if not ready.exists():
        if not os.environ.get("WEFT_LONG"):
            pytest.skip("the Jupyter kernel: WEFT_LONG=1 installs it once")
        subprocess.run([sys.executable, "-m", "venv", PLACE], check=True)
        got = subprocess.run([python, "-m", "pip", "install", "-q", "ipykernel", "jupyter_client", "cloudpickle"],
                             capture_output=True, text=True)
        if got.returncode:
            pytest.skip(f"the Jupyter kernel cannot be installed: {got.stderr.strip().splitlines()[-1]}")
        ready.touch()
    return python


def run_cells(python, folder, *cells):
    ran = subprocess.run([python, "-c", DRIVER], input=json.dumps(cells), capture_output=True, text=True, timeout=120, cwd=folder,
                         env={**os.environ, "IPYTHONDIR": str(folder), "JUPYTER_RUNTIME_DIR": str(folder / "runtime")})
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_jobs_of_a_notebook(jupyter, tmp_path):
    (tmp_path / "text").write_text("a b a\nc a\n")
    first, second, third, fourth, fifth, sixth = run_cells(
        jupyter, tmp_path,
        "import weft\nfactor = 10\ndef words(line):\n    for word in line.split():\n        yield word, factor",
        "dict(weft.run(map=words, fold=sum, inputs='text'))",
        "factor = 3\nresult = weft.run(map=words, fold=max, source=['x y', 'x'])\nprint(list(result))",
        "weft.run(map=lambda line: [(line, 1 // 0)], fold=sum, inputs='text', max_attempts=1)",
        "dict(weft.run(map=lambda line: [len(line)], fold=weft.count, inputs='text'))",
        "import time\nlen(weft.run(map=lambda n: time.sleep(0.1) or [(n, n)], fold=sum, source=list(range(12)), slots=1))")
    assert first["error"] == "" and second["result"] == "{'a': 30, 'b': 10, 'c': 10}"
    assert third["stdout"] == "[('x', 3), ('y', 3)]\n"
    assert fourth["error"].startswith("TaskError") and "ZeroDivisionError" in fourth["error"]
    assert fifth["result"] == "{3: 1, 5: 1}"
    assert sixth["result"] == "12" and "of 12 tasks" in sixth["stderr"]  # the progress bar


def test_a_cell_that_is_interrupted_leaves_no_process(jupyter, tmp_path):
    (tmp_path / "text").write_text("a\n")
    slow, after = run_cells(
        jupyter, tmp_path,
        "import weft, os, signal, threading, time\n"
        "def wait(line):\n    open('begun', 'w')\n    time.sleep(60)\n    yield 1, 1\n"
        "def interrupt():\n    while not os.path.exists('begun'): time.sleep(0.01)\n    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Thread(target=interrupt).start()\nweft.run(map=wait, fold=sum, inputs='text')",
        "import subprocess\nsubprocess.run(['pgrep', '-P', str(os.getpid())], capture_output=True, text=True).stdout")
    assert slow["error"].startswith("KeyboardInterrupt"), slow
    assert after["result"] == "''"
