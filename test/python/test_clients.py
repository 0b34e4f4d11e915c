"""Scripts and programs whose work is done by clients: `weft server`, `weft client`, weft.run(listen=...)."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import weft
from conftest import wait_for

WAIT = 60
# Within which a client ends after the job. The real limit is for an idle machine.
LIMIT_S = 2 if os.environ.get("WEFT_LONG") == "1" else 20


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, ends):
    global begin
    begin = ends
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


class Running:
    """A process whose output is collected."""

    def __init__(self, *words, env=None, cwd=None):
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
                                        env={**os.environ, **(env or {})})
        begin(self.process)

    def end(self, code=0):
        try:
            out, err = self.process.communicate(timeout=WAIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        assert code is None or self.process.returncode == code, err
        return out, err


def serve(*words, env=None):
    """A server, and the address of it."""
    server = Running("weft", "server", "--listen", "localhost:0", "--port-file", "port", "--timeout", "50s", *words, env=env)
    return server, port(server)


def port(server, name="port"):
    deadline = time.monotonic() + WAIT
    while not os.path.exists(name) or not open(name).read().strip():
        if server.process.poll() is not None:
            return None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return open(name).read().strip()


def client(address, *words, env=None, cwd=None):
    return Running("weft", "client", "-n", "1", "--memory", "1G", *words, address, env=env, cwd=cwd)


COUNTING = """\
    import os, time
    reads = []
    class Source:
        def __iter__(self):
            return iter(["k%d" % number for number in range(40)])
        def __getitem__(self, key):
            reads.append(key)
            return key + " x"
    source = Source()
    def mapfn(key, value):
        for word in value.split():
            yield word, 1
    def reducefn(key, values):
        return sum(values)
    sums = {}
    def final(key, value):
        sums[key] = value
        if key == "x":
            print(len(sums), value, len(reads), len(set(reads)), os.getpid())
    """


def test_a_source_on_two_clients_is_read_in_the_process_of_the_script(folder):
    """Once for each item, or twice where a client was slow and another did its task, too."""
    server, address = serve(script("s.py", MARKING), env={"STATE": str(folder), "WHO": "server"})
    clients = [client(address, env={"STATE": str(folder), "WHO": who}) for who in ("first", "second")]
    wait_for_item("first")
    wait_for_item("second")
    open("go", "w").close()
    out, _ = server.end()
    ended = time.monotonic()
    for one in clients:
        one.end()
    assert time.monotonic() - ended < LIMIT_S
    words, x, reads, items, process = map(int, out.split())
    assert (words, x, items, process) == (41, 40, 40, server.process.pid) and 40 <= reads <= 80


def test_values_of_any_size_and_kind():
    server, address = serve(script("s.py", """\
        source = {("a", 1): b"x" * 3000000, None: {"deep": [1, 2.5]}, 7: None, "empty": ""}
        def mapfn(key, value):
            yield type(value).__name__, len(value) if isinstance(value, (bytes, str)) else value
        def reducefn(key, values):
            return values
        def final(key, value):
            print(key, value)
        """))
    worker = client(address)
    assert server.end()[0] == "NoneType [None]\nbytes [3000000]\ndict [{'deep': [1, 2.5]}]\nstr [0]\n"
    worker.end()


# Each item leaves a file of its client; from the twentieth on it waits for the file "go".
MARKING = COUNTING.replace("for word in", """\
        open(f"{os.environ['STATE']}/{os.environ['WHO']}-{key}", "w").close()
        while int(key[1:]) >= 20 and not os.path.exists(os.environ["STATE"] + "/go"):
            time.sleep(0.02)
        for word in""".lstrip())


def wait_for_item(who):
    deadline = time.monotonic() + WAIT
    while not any(name.startswith(who) for name in os.listdir()):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_killed_client_costs_one_more_read_of_its_items_and_a_late_one_gets_work(folder):
    script("s.py", MARKING)
    server, address = serve("s.py", env={"STATE": str(folder), "WHO": "server"})
    first = client(address, env={"STATE": str(folder), "WHO": "first"})
    wait_for_item("first")
    second = client(address, env={"STATE": str(folder), "WHO": "second"})
    wait_for_item("second")
    first.process.kill()
    wait_for(server.process, "is lost")
    open("go", "w").close()
    out, _ = server.end()
    first.end(code=-9)
    assert "tasks here" in second.end()[1]
    words, x, reads, items = map(int, out.split()[:4])
    assert (words, x, items) == (41, 40, 40) and 40 <= reads <= 80


def test_a_stopped_client_is_done_without(folder):
    script("s.py", MARKING)
    server, address = serve("s.py", env={"STATE": str(folder), "WHO": "server"})
    first, second = (client(address, env={"STATE": str(folder), "WHO": who}) for who in ("first", "second"))
    wait_for_item("first")
    first.process.send_signal(signal.SIGSTOP)
    open("go", "w").close()
    out, _ = server.end()
    assert out.split()[:2] == ["41", "40"]
    second.end()
    first.process.kill()
    first.process.send_signal(signal.SIGCONT)
    first.end(code=None)


def test_a_source_that_raises_and_a_value_that_cannot_be_pickled():
    server, address = serve(script("s.py", """\
        class Source(dict):
            def __getitem__(self, key):
                raise LookupError("no such book")
        source = Source(a=1)
        def mapfn(key, value): yield key, 1
        def reducefn(key, values): return 1
        """))
    worker = client(address)
    err = server.end(code=1)[1]
    worker.end(code=None)
    assert "source['a'] raised LookupError: no such book" in err and "s.py" in err
    os.unlink("port") if os.path.exists("port") else None
    server, address = serve(script("t.py", """\
        source = {"a": lambda: 1}
        def mapfn(key, value): yield key, 1
        def reducefn(key, values): return 1
        """))
    worker = client(address)
    assert "source['a'] raised" in server.end(code=1)[1]
    worker.end(code=None)


UNFIT = """\
    import os
    if os.environ.get("IS_UNFIT"):
        raise RuntimeError("not on this machine")
    source = {1: 1}
    def mapfn(key, value): yield key, value
    def reducefn(key, values): return values
    def final(key, value): print(key, value)
    """


def test_an_import_that_raises_on_one_client_sets_that_one_aside():
    server, address = serve(script("s.py", UNFIT))
    unfit = client(address, env={"IS_UNFIT": "1"})
    said = unfit.end(code=1)[1]
    assert "is set aside: the script raised RuntimeError: not on this machine" in said and "s.py" in said
    worker = client(address)
    out, err = server.end()
    assert out == "1 [1]\n" and "raised RuntimeError: not on this machine" in err
    worker.end()


def test_an_import_that_raises_on_every_client_ends_the_job():
    server, address = serve(script("s.py", UNFIT))
    unfit = [client(address, env={"IS_UNFIT": "1"}) for _ in range(3)]
    err = server.end(code=1)[1]
    assert err.rstrip().splitlines()[-1] and "raised RuntimeError: not on this machine" in err and "s.py" in err
    for one in unfit:
        one.end(code=None)


def test_the_process_of_the_script_is_killed():
    server, address = serve(script("s.py", COUNTING.replace("reads.append(key)", "open(key, 'w').close(); time.sleep(0.3)")))
    worker = client(address)
    wait_for_item("k1")  # the client has one, and reading all of them takes 12 seconds
    server.process.kill()
    assert "the process that has the values of the source is gone" in worker.end()[1]
    server.end(code=-9)


def test_scripts_are_imported_in_a_private_directory(folder):
    server, address = serve(script("s.py", """\
        import os
        out = open("out.txt", "w")
        source = {1: 1}
        def mapfn(key, value): yield os.getcwd(), 1
        def reducefn(key, values): return sum(values)
        def final(key, value): print(key, file=out, flush=True)
        """))
    worker = client(address, cwd=folder)
    server.end()
    worker.end()
    assert os.path.realpath(open("out.txt").read().strip()) != os.path.realpath(folder)


BESIDE = """\
    def words(line):
        for word in line.split():
            yield word, 1
    """


def test_modules_beside_a_script_with_a_source_travel():
    script("beside.py", BESIDE)
    server, address = serve(script("s.py", """\
        import beside
        source = {1: "a b a"}
        def mapfn(key, value): return list(beside.words(value))
        def reducefn(key, values): return sum(values)
        def final(key, value): print(key, value)
        """))
    worker = client(address)
    assert server.end()[0] == "a 2\nb 1\n"
    worker.end()


def test_packages_beside_a_script_travel_and_modules_that_only_a_function_imports():
    os.makedirs("tools/deep")
    script("tools/__init__.py", "")
    script("tools/deep/__init__.py", "")
    script("tools/deep/cut.py", BESIDE)
    open("tools/deep/stop.txt", "w").write("b")
    script("late.py", "import later\ndef first(words): return [pair for pair in words if pair[0] not in later.stops()]\n")
    script("later.py", """\
        import os
        def stops():
            from tools import deep
            return open(os.path.join(os.path.dirname(deep.__file__), "stop.txt")).read()
        """)
    open("text", "w").write("a b a\n")
    server, address = serve(script("s.py", """\
        import tools.deep.cut
        def mapfn(line):
            import late
            return late.first(tools.deep.cut.words(line))
        fold = sum
        """), "text")
    worker = client(address)
    assert server.end()[0] == "a\t2\n"
    worker.end()


def test_files_that_the_code_reads_travel_by_file():
    open("stop.txt", "w").write("b")
    open("text", "w").write("a b a\n")
    reads = "[(word, 1) for word in line.split() if word not in open('stop.txt').read()]"
    script("s.py", f"def mapfn(line): return {reads}\nfold = sum\n")
    for words in ["--file", "stop.txt", "s.py", "text"], ["s.py", "text", "--file=stop.txt"]:
        server, address = serve(*words)
        worker = client(address)
        assert server.end()[0] == "a\t2\n"
        worker.end()
        assert Running("weft", "run", "-q", *words).end()[0] == "a\t2\n"
    assert "--file nosuch: there is no such file" in Running("weft", "run", "s.py", "text", "--file", "nosuch").end(1)[1]
    program = Running(sys.executable, script("p.py", PROGRAM.replace("timeout=", "file=['stop.txt'], timeout=")
                                             .replace("if __name__", f"def stopped(line): return {reads}\n    if __name__") % "stopped"))
    worker = client(port(program))
    assert program.end()[0] == "{'a': 2}\n"
    worker.end()


def test_files_that_an_old_script_executes_travel():
    script("stop.py", "stop = ['b']\n")
    server, address = serve(script("s.py", """\
        execfile("stop.py")
        source = {1: "a b a"}
        def mapfn(k, v): return [(word, 1) for word in v.split() if word not in stop]
        def reducefn(k, vs): return sum(vs)
        def final(k, v): print k, v
        """))
    worker = client(address)
    assert server.end()[0] == "a 2\n"
    worker.end()


def test_a_package_that_is_too_large_is_refused_where_there_are_clients():
    os.mkdir("large")
    for number in range(300):
        open(f"large/m{number}.py", "w").close()
    open("large/__init__.py", "w").close()
    script("s.py", "import large\ndef mapfn(line): yield line, 1\nfold = sum\n")
    open("text", "w").write("a\n")
    server, _ = serve("s.py", "text")
    assert "the package large beside the script has 301 files of 0.0 MB, too much to send to clients" in server.end(code=1)[1]
    assert Running("weft", "run", "-q", "s.py", "text").end()[0] == "a\t1\n"


@pytest.mark.parametrize("start", [["p.py"], ["-c", "exec(open('p.py').read())"]])
def test_modules_beside_a_program_travel(start):
    """Also where there is no main file: they are then those of the directory at hand."""
    script("beside.py", BESIDE)
    script("p.py", """\
        import beside
        import weft
        if __name__ == "__main__":
            print(dict(weft.run(map=beside.words, fold=sum, inputs="text", listen="localhost:0", port_file="port", timeout="50s")))
        """)
    open("text", "w").write("a b a\n")
    program = Running(sys.executable, *start)
    worker = client(port(program))
    assert program.end()[0] == "{'a': 2, 'b': 1}\n"
    worker.end()


PROGRAM = """\
    import sys
    import weft
    def words(line):
        for word in line.split():
            yield word, 1
    if __name__ == "__main__":
        result = weft.run(map=%s, fold=sum, inputs="text", listen="localhost:0", port_file="port", timeout="50s")
        print(dict(result))
    """


@pytest.mark.parametrize("map", ["words", "lambda line: [(word, 1) for word in line.split()]"])
def test_run_with_clients(map):
    if map != "words":
        pytest.importorskip("cloudpickle")
    open("text", "w").write("a b a\n")
    program = Running(sys.executable, script("p.py", PROGRAM % map))
    workers = [client(port(program)), client(port(program))]
    out, err = program.end()
    assert out == "{'a': 2, 'b': 1}\n"
    assert "join by: weft client localhost:" in err
    assert [worker.process.wait(WAIT) for worker in workers].count(0) >= 1  # one may have done all before the other has joined


def test_a_function_that_refers_to_much_travels_in_a_file():
    """Words of a command have 128 KiB at most."""
    pytest.importorskip("cloudpickle")
    open("text", "w").write("w1 b w199999\n")
    script("p.py", """\
        import sys, weft
        stop = {f"w{number}" for number in range(200000)}
        def of(stop):
            return lambda line: [(word, 1) for word in line.split() if word not in stop]
        if __name__ == "__main__":
            more = {"listen": "localhost:0", "port_file": "port", "timeout": "50s"} if sys.argv[1:] else {}
            print(dict(weft.run(map=of(stop), fold=sum, inputs="text", **more)))
        """)
    assert Running(sys.executable, "p.py").end()[0] == "{'b': 1}\n"
    program = Running(sys.executable, "p.py", "clients")
    worker = client(port(program))
    assert program.end()[0] == "{'b': 1}\n"
    worker.end()


def test_too_many_names_of_inputs_are_a_sentence():
    with pytest.raises(weft.InvalidArgument, match="too long for a command(.|\n)*@names.txt"):
        weft.run(map=weft.words, fold=weft.count, inputs=["x" * 200] * 60000)


def test_functions_by_value_are_refused_by_another_version():
    description = {"map": {"pickle": "x"}, "python": [3, 99], "main": None, "here": "/tmp"}
    from weft import code
    with pytest.raises(code.BadJob, match=r"map travels by value(.|\n)*the server has 3.99, and this machine has 3.%d"
                       % sys.version_info[1]):
        code.settle(dict(description))
    description["map"], description["collect"] = {"main": "f"}, {"code": "x"}
    with pytest.raises(code.BadJob, match="collect travels by value"):
        code.settle(dict(description))


def test_a_wrong_token():
    server, address = serve(script("s.py", COUNTING))
    assert "token" in client(address + "#" + "a" * 64).end(code=5)[1]
    worker = client(address)
    server.end()
    worker.end()
