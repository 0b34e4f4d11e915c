"""What is wrong with a script, its data or its clients: each a sentence and an exit code. e2e/56-python has those that need only a shell."""
import glob
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import free_port, wait_for

WAIT = 60


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, ends):
    global begin
    begin = ends
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("one\ntwo\n")
    return tmp_path


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


def run(*words, code=1):
    """What a run with that exit code says."""
    ran = subprocess.run(["weft", "run", "-q", "--max-attempts", "1", *words, "text"], capture_output=True, text=True, timeout=WAIT)
    assert ran.returncode == code, ran.stderr
    return ran.stderr


def start(*words, **env):
    process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **env})
    begin(process)
    return process


def end(process, code=0):
    try:
        out, err = process.communicate(timeout=WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == code, err
    return out, err


def address_of(server):
    """Where a server that was started with --port-file port listens."""
    deadline = time.monotonic() + WAIT
    while not os.path.exists("port") or not open("port").read().strip():
        assert server.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    return open("port").read().strip()


def serve(*words, **env):
    server = start("weft", "server", "--listen", "localhost:0", "--port-file", "port", "--timeout", "50s", *words, **env)
    return server, address_of(server)


def client(address, *words, **env):
    return start("weft", "client", "-n", "1", "--memory", "1G", *words, address, **env)


# ---- Data and code

@pytest.mark.parametrize("text, place", [
    ("def mapfn(line): yield '\\ud800', 1\nfold = sum\n", "at the key '\\ud800'"),
    ("def mapfn(line): yield line, 1\ndef reducefn(key, values): return '\\ud800'\n", "at the key 'one'"),
    ("def mapfn(line): yield line, '\\ud800' if line == 'two' else 1\n", "at the record 'two', byte 4 of text")])
def test_lone_surrogates_cannot_be_written_and_the_place_is_named(text, place):
    said = run(script("s.py", text))
    assert "'\\ud800' cannot be written as text: it has surrogates" in said and place in said


def test_lone_surrogates_are_values_between_map_and_reduce():
    script("s.py", "def mapfn(line): yield 'k', '\\ud800' + line\ndef reducefn(key, values): return sorted(map(ascii, values))\n")
    ran = subprocess.run(["weft", "run", "-q", "s.py", "text"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "k\t[\"'\\\\ud800one'\", \"'\\\\ud800two'\"]\n"), ran.stderr


def test_a_mapfn_that_takes_all_memory():
    script("s.py", "kept = []\ndef mapfn(line):\n    while True: kept.append(bytearray(1 << 20))\nfold = sum\n")
    said = run("--memory", "200M", "s.py", code=5)
    assert "MiB of memory" in said and "give more --memory" in said


def test_too_little_memory_for_the_interpreters_is_refused_with_the_figure():
    said = run("--memory", "20M", script("s.py", "def mapfn(line): yield line, 1\n"), code=5)
    assert "--memory is too small" in said
    run("--memory", said.split("try: --memory ")[1].split()[0], "s.py", code=0)


def test_an_endless_loop_is_ended_by_record_timeout():
    script("s.py", "def mapfn(line):\n    while line == 'two': pass\n    yield line, 1\nfold = sum\n")
    said = run("--record-timeout", "300ms", "s.py", code=6)
    assert 'at offset 4: "two"' in said and "mapfn took longer than --record-timeout" in said


def test_an_endless_generator_is_ended_by_record_timeout():
    script("s.py", "def mapfn(line):\n    while line == 'two': yield 'x', 1\n    yield line, 1\ndef reducefn(key, values): return len(values)\n")
    said = run("--record-timeout", "300ms", "s.py", code=6)
    assert 'at offset 4: "two"' in said and "mapfn took longer than --record-timeout" in said


def test_an_endless_loop_in_reducefn_is_ended_and_its_key_is_named():
    script("s.py", "def mapfn(line): yield line, 1\ndef reducefn(key, values):\n    while key == 'two': pass\n    return 1\n")
    said = run("--record-timeout", "300ms", "--timeout", "30s", "s.py", code=6)
    assert "reducefn took longer than --record-timeout" in said and "at the key 'two'" in said
    script("f.py", "def mapfn(line): yield 'k', 1\ndef fold(values):\n    while len(values) > 1: pass\n    return values[0]\n")
    assert "fold took longer than --record-timeout" in run("--record-timeout", "300ms", "--timeout", "30s", "f.py", code=6)


def test_record_timeout_is_for_one_record_and_not_for_those_that_are_read_at_once(folder):
    (folder / "text").write_text("".join(f"{number}\n" for number in range(30)))
    script("s.py", "import time\ntime.sleep(3)\ndef mapfn(line):\n    time.sleep(0.1)\n    yield 'n', 1\nfold = sum\n")
    ran = subprocess.run(["weft", "run", "-q", "--slots", "1", "--max-attempts", "1", "--record-timeout", "2500ms", "s.py", "text"],
                         capture_output=True, text=True, timeout=WAIT)
    assert (ran.returncode, ran.stdout) == (0, "n\t30\n"), ran.stderr


def test_record_timeout_at_clients():
    script("s.py", "def mapfn(line): yield line, 1\ndef reducefn(key, values):\n    while key == 'two': pass\n    return 1\n")
    server, address = serve("-q", "--record-timeout", "300ms", "--max-attempts", "1", "s.py", "text")
    worker = client(address)
    said = end(server, 6)[1]
    worker.communicate(timeout=WAIT)
    assert "reducefn took longer than --record-timeout" in said and "at the key 'two'" in said


@pytest.mark.parametrize("returned, shown", [("5", "<class 'int'>"), ("object()", "<class 'object'>")])
def test_what_is_no_pairs_is_named_with_the_function(returned, shown):
    said = run(script("s.py", f"def mapfn(line): return {returned}\nfold = sum\n"))
    assert f"mapfn returned {shown}; it must yield or return pairs" in said


def test_a_zero_byte_in_a_script():
    said = run(script("s.py", "def mapfn(line): yield 1, 1\0\n"))
    assert "cannot run s.py" in said and "null bytes" in said and "None" not in said


@pytest.mark.parametrize("words, code", [(["--record-timeout", "300ms"], 6), (["--memory", "1M"], 2), (["--nonsense"], 2)])
def test_exit_codes_are_the_same_with_a_source(words, code):
    script("s.py", "source = [1]\ndef mapfn(key, value):\n    while True: pass\ndef final(key, value): pass\n")
    ran = subprocess.run(["weft", "run", "-q", "--max-attempts", "1", *words, "s.py"], capture_output=True, text=True, timeout=WAIT)
    assert ran.returncode == code and ran.stderr.startswith("weft: "), ran.stderr
    script("t.py", "def mapfn(line): yield line, 1\ndef final(key, value): pass\n")
    ran = subprocess.run(["weft", "run", "--json", "t.py", "missing"], capture_output=True, text=True, timeout=WAIT)
    assert ran.returncode == 4 and '"code": "NOT_FOUND"' in ran.stderr, ran.stderr


def test_functions_of_other_names_are_noticed():
    said = run(script("s.py", "# mapfn\ndef mapper(line): yield line, 1\nfold = sum\n"))
    assert "it has no mapfn" in said and "try: rename mapper to mapfn" in said
    text = "def mapfn(line): yield line, 1\ndef reduce(key, values): return sum(values)\n"
    notice = "weft: s.py has no reducefn and no fold: its reduce() is not called\n"
    assert run(script("s.py", text), code=0) == notice
    for more in "fold = sum\n", "reducefn = reduce\n", "from functools import reduce\n":
        assert run(script("s.py", text + more), code=0) == ""


# ---- Clients

def test_octo_with_another_token(folder):
    port, good, bad = free_port(), "a" * 32, "b" * 32
    script("s.py", "source = {1: 'x'}\ndef mapfn(k, v): yield v, 1\ndef reducefn(k, v): return len(v)\ndef final(k, v): print(k, v)\n")
    server = start(sys.executable, "-m", "weft.octo", "-p", port, "server", "s.py", WEFT_TOKEN=good)
    wait_for(server, "join by")
    assert "another token" in end(start(sys.executable, "-m", "weft.octo", "-p", port, "client", "localhost", WEFT_TOKEN=bad), 5)[1]
    assert "is not a token" in end(start(sys.executable, "-m", "weft.octo", "-p", port, "client", "localhost#x"), 2)[1]
    worker = start(sys.executable, "-m", "weft.octo", "-p", port, "client", "localhost", WEFT_TOKEN=good)
    assert end(server)[0] == "x 1\n"
    end(worker)


def test_mincemeat_with_another_password():
    port = free_port()
    server = start(sys.executable, script("s.py", f"""\
        import mincemeat
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = {{1: "x"}}, lambda k, v: [(v, 1)], lambda k, vs: sum(vs)
        print(s.run_server(password="good", port={port}))
        """))
    wait_for(server, "join by")
    said = end(start(sys.executable, "-m", "mincemeat", "-p", "bad", "-P", port, "localhost"), 5)[1]
    assert f"localhost:{port} has another password" in said and "token" not in said
    worker = start(sys.executable, "-m", "mincemeat", "-p", "good", "-P", port, "localhost")
    assert end(server)[0] == "{'x': 1}\n"
    end(worker)


def test_kill_of_the_python_of_a_clients_slot(folder):
    server, address = serve("--lines-per-task", "1", script("s.py", """\
        import os, time
        def mapfn(line):
            state = os.environ["STATE"]
            if not os.path.exists(state + "/pid"):
                with open(state + "/pid.new", "w") as file: file.write(str(os.getpid()))
                os.rename(state + "/pid.new", state + "/pid")
                time.sleep(60)
            yield line, 1
        fold = sum
        """), "text", STATE=str(folder))
    worker = client(address, STATE=str(folder))
    while not os.path.exists("pid"):
        assert server.poll() is None
        time.sleep(0.02)
    os.kill(int(open("pid").read()), signal.SIGKILL)
    out, err = end(server)
    assert out == "one\t1\ntwo\t1\n" and "was killed by signal 9" in err
    end(worker)


def other_pythons():
    """CPython of other minor versions that can load the extension module, which is of the limited API of 3.11."""
    found = {}
    for path in sorted(glob.glob("/usr/bin/python3.[0-9][0-9]") + glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))):
        ran = subprocess.run([path, "-S", "-c", "import sys; print(sys.implementation.name, *sys.version_info[:2])"], capture_output=True,
                             text=True)
        name, *version = ran.stdout.split() or [""]
        version = tuple(map(int, version))
        if name == "cpython" and version >= (3, 11) and version != sys.version_info[:2]:
            found[version] = path
    return found


def test_a_client_with_another_python_works_for_scripts_and_refuses_functions_by_value():
    others = other_pythons()
    if not others:
        pytest.skip("no other CPython from 3.11 on was found")
    for version, path in others.items():
        server, address = serve(script("s.py", "import sys\ndef mapfn(line): yield sys.version_info[:2], 1\nfold = sum\n"), "text")
        worker = client(address, WEFT_PYTHON=path)
        assert end(server)[0] == f"{version}\t2\n"
        end(worker)
    pytest.importorskip("cloudpickle")
    program = start(sys.executable, script("p.py", """\
        import weft
        print(dict(weft.run(map=lambda line: [(line, 1)], fold=sum, inputs="text", listen="localhost:0", port_file="port", timeout="50s")))
        """))
    worker = client(address_of(program), WEFT_PYTHON=path)
    said = end(program, 1)[1]
    assert "map travels by value" in said and "the server has %d.%d" % sys.version_info[:2] in said and "has %d.%d" % version in said
    worker.communicate(timeout=WAIT)


def test_numpy_is_missing(folder):
    """In the script, and only in a function of it."""
    (folder / "without").mkdir()
    (folder / "without" / "numpy.py").write_text("raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n")
    env = {**os.environ, "PYTHONPATH": f"{folder / 'without'}:{os.environ['PYTHONPATH']}", "WEFT_PYTHON": sys.executable}
    for text in "import numpy\ndef mapfn(line): yield 1, 1\n", "def mapfn(line):\n    import numpy\n    yield 1, 1\n":
        ran = subprocess.run(["weft", "run", "-q", "--max-attempts", "1", script("s.py", text), "text"], capture_output=True, text=True, env=env)
        assert ran.returncode == 1 and "raised ModuleNotFoundError: No module named 'numpy'" in ran.stderr and 'File "s.py"' in ran.stderr
