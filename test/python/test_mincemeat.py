"""Scripts of mincemeat.py and of octo.py, by their own names."""
import hashlib
import os
import subprocess
import sys
import textwrap

import pytest
import weft
import weft.code
from conftest import free_port, wait_for

import mincemeat

EXAMPLE = """\
    import mincemeat

    data = ["Humpty Dumpty sat on a wall",
            "Humpty Dumpty had a great fall",
            "All the King's horses and all the King's men",
            "Couldn't put Humpty together again",
            ]
    # The data source can be any dictionary-like object
    datasource = dict(enumerate(data))

    def mapfn(k, v):
        for w in v.split():
            yield w, 1

    def reducefn(k, vs):
        result = sum(vs)
        return result

    s = mincemeat.Server()
    s.datasource = datasource
    s.mapfn = mapfn
    s.reducefn = reducefn

    results = s.run_server(password="changeme")
    print RESULTS
    """


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, ends):
    global begin
    begin = ends
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(*words, code=0):
    ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)
    assert ran.returncode == code, ran.stderr
    return ran.stdout if code == 0 else ran.stderr


@pytest.fixture
def local(monkeypatch):
    """As `weft run` sets it: a server works alone."""
    monkeypatch.setattr(weft.code, "is_local", True)


def weft_run(name):
    ran = subprocess.run(["weft", "run", "-q", name], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def start(*words, env=None):
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **(env or {})})
    begin(process)
    return process


def end(process, code=0):
    out, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    return out, err


BRIEF = {"WEFT_JOIN_MS": "1000"}


def end_all(clients):
    """They end with the job. On a busy machine one may have done all of it before another has joined: that one finds no server."""
    codes = [client.wait(timeout=60) for client in clients]
    assert 0 in codes and set(codes) <= {0, 3}, [client.stderr.read() for client in clients]


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


@pytest.mark.parametrize("hide", ["", "import sys; sys.modules['cloudpickle'] = None\n"])
def test_the_example_of_mincemeat(hide):
    name = script("example.py", hide + textwrap.dedent(EXAMPLE).replace("print RESULTS", "print(sorted(results.items())[:3])"))
    assert weft_run(name) == "[('All', 1), (\"Couldn't\", 1), ('Dumpty', 2)]\n"


def test_the_example_with_its_print_statement_as_server_and_two_clients():
    port = free_port()
    name = script("example.py", textwrap.dedent(EXAMPLE).replace("RESULTS", "results['Humpty'], len(results)")
                  .replace('"changeme"', f'"changeme", port={port}'))
    server = start("-m", "weft.py2", name)
    assert "example.py is of Python 2" in server.stderr.readline()
    assert f"mincemeat.py -p PASSWORD -P {port}" in server.stderr.readline()
    wrong = start("-m", "mincemeat", "-p", "other", "-P", str(port), "localhost")
    assert "another password" in end(wrong, 5)[1]
    clients = [start("-m", "mincemeat", "-p", "changeme", "-P", str(port), "localhost", env=BRIEF) for _ in range(2)]
    assert end(server)[0] == "3 20\n"
    end_all(clients)


def test_two_runs_on_one_port_with_a_client_for_each():
    port = free_port()
    name = script("two.py", f"""\
        import mincemeat
        for factor in (1, 10):
            s = mincemeat.Server()
            s.datasource, s.mapfn, s.reducefn = {{1: factor}}, lambda k, v: [(k, v)], lambda k, vs: sum(vs)
            print(s.run_server(port={port}), flush=True)
        """)
    server = start(name)
    for expected in ("{1: 1}", "{1: 10}"):
        assert "join by" in server.stderr.readline()
        client = mincemeat.Client()
        client.conn("localhost", port)
        assert server.stdout.readline().strip() == expected
        assert "has joined" in server.stderr.readline()
    end(server)


def test_two_runs_in_one_script_whose_functions_come_between():
    name = script("two.py", """\
        import mincemeat
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = {1: 2}, lambda k, v: [(k, v)], lambda k, vs: vs
        first = s.run_server(port=mincemeat.DEFAULT_PORT)
        def later(k, v): yield v, first[1]
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = ["x", "y"], later, lambda k, vs: len(vs)
        print(first, sorted(s.run_server(port=mincemeat.DEFAULT_PORT).items()))
        """)
    assert weft_run(name) == "{1: [2]} [('x', 1), ('y', 1)]\n"


NESTED = """\
    import mincemeat
    def sums(count):
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = list(range(count)), lambda k, v: [(v % 2, v)], lambda k, vs: sum(vs)
        return s.run_server(password="changeme", port=PORT)
    class Source(dict):
        def __getitem__(self, key):
            return sums(dict.__getitem__(self, key)) if WHERE == "datasource" else dict.__getitem__(self, key)
    def mapfn(key, value):
        yield key, sums(value) if WHERE == "mapfn" else value
    if __name__ != "__weft_main__":
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = Source(a=3, b=4), mapfn, lambda k, vs: vs
        print(s.run_server(password="changeme", port=PORT))
    """


@pytest.mark.parametrize("where", ["mapfn", "datasource"])
def test_a_server_inside_another(where):
    """In a datasource the inner one is a server of its own, here without clients; in mapfn it is a job of the client."""
    port = free_port()
    name = script("nested.py", NESTED.replace("PORT", str(port)).replace("WHERE", repr(where)))
    expected = "{'a': [{0: 2, 1: 1}], 'b': [{0: 2, 1: 4}]}\n"
    assert weft_run(name) == expected
    if where == "mapfn":
        server = start(name)
        wait_for(server, "join by")
        client = start("-m", "mincemeat", "-p", "changeme", "-P", str(port), "localhost")
        assert end(server)[0] == expected
        end(client)


OWN_WORDS = """\
    import mincemeat, os, sys
    def main():
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = list(range(40)), lambda k, v: [(os.getpid(), 1)], lambda k, vs: sum(vs)
        slots = s.run_server(password="changeme", port=PORT)
        print(sys.argv[1:], sum(slots.values()), len(slots))
    if __name__ == "__main__":
        main()
    """


def test_a_script_has_its_own_words_and_the_command_those_before_it():
    """And its main part runs, as by `python3 own.py`."""
    name = script("own.py", OWN_WORDS.replace("PORT", "0"))
    ran = subprocess.run(["weft", "run", "-q", "--slots", "1", name, "3", "-x"], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "['3', '-x'] 40 1\n", "")
    for word in "--output=out", "--top=3", "--format=csv":
        ran = subprocess.run(["weft", "run", "-q", word, name], capture_output=True, text=True, timeout=60)
        assert ran.returncode == 1 and f"{word} is not for a script with a server of mincemeat" in ran.stderr and not os.path.exists("out")


def test_weft_server_starts_such_a_script_at_its_own_port():
    port = free_port()
    name = script("own.py", OWN_WORDS.replace("PORT", str(port)))
    server = subprocess.Popen(["weft", "server", "--timeout", "50s", name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "WEFT_PYTHON": sys.executable})
    begin(server)
    wait_for(server, f"-P {port}")
    client = start("-m", "mincemeat", "-p", "changeme", "-P", str(port), "localhost")
    assert end(server)[0].startswith("[] 40 ")
    end(client)


def test_bare_code_sees_the_modules_of_mincemeat():
    name = script("bare.py", """\
        import sys
        sys.modules["cloudpickle"] = None
        import mincemeat
        def mapfn(k, v): yield os.path.basename(v), hashlib.sha1(v.encode()).hexdigest()[:4]
        def reducefn(k, vs): return sorted(vs)
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = {"a": "x/y"}, mapfn, reducefn
        print(s.run_server())
        """)
    assert weft_run(name) == "{'y': ['%s']}\n" % hashlib.sha1(b"x/y").hexdigest()[:4]


def test_collectfn_joins_the_values_of_one_task(local):
    server = mincemeat.Server()
    server.datasource = {"a": "x y x", "b": "x"}
    server.mapfn = lambda k, v: [(word, 1) for word in v.split()]
    server.collectfn = lambda k, vs: (sum(vs), len(vs))
    server.reducefn = lambda k, vs: sorted(vs)
    assert server.run_server() == {"x": [(1, 1), (2, 2)], "y": [(1, 1)]}


def test_an_empty_datasource_and_reducefn_that_returns_nothing(local):
    server = mincemeat.Server()
    server.datasource, server.mapfn, server.reducefn = {}, lambda k, v: [(k, v)], lambda k, vs: None
    assert server.run_server() == {}
    server.datasource = {1: 1}
    assert server.run_server() == {1: None}


def test_failures(local):
    server = mincemeat.Server()
    with pytest.raises(weft.InvalidArgument, match="no datasource"):
        server.run_server()
    server.datasource, server.mapfn = {"bad": 1}, lambda k, v: [(k, 1 // 0)]
    with pytest.raises(weft.InvalidArgument, match="no reducefn"):
        server.run_server()
    server.reducefn = lambda k, vs: vs
    with pytest.raises(weft.TaskError, match="the item 'bad' of the source"):
        server.run_server()


def test_a_client_without_a_server(monkeypatch):
    monkeypatch.setenv("WEFT_JOIN_MS", "300")
    with pytest.raises(weft.Unavailable, match="connection refused"):
        mincemeat.Client().conn("localhost", free_port())
    assert "0.1.4" in python("-m", "mincemeat", "--version")


GUIDE = """\
    source = {"a.txt": "the cat", "b.txt": "the dog"}
    def mapfn(key, value):
        for word in value.split():
            yield word, 1
    def reducefn(key, value):
        return key, len(value)
    def final(key, value):
        print key, value
    """


def test_octo_by_its_own_words():
    port = str(free_port())
    name = script("guide.py", GUIDE)
    server = start("-m", "weft.octo", "-t", "simple", "-p", port, "SERVER", name)
    wait_for(server, "join by")
    named = script("named.py", "server = 'localhost'\nout = open('octo.out', 'w')\n")
    clients = [start("-m", "weft.octo", "-p", port, "-v", "client", word, env=BRIEF) for word in ("localhost", named)]
    assert end(server)[0] == "cat ('cat', 1)\ndog ('dog', 1)\nthe ('the', 2)\n"
    end_all(clients)
    assert not os.path.exists("octo.out")  # imported elsewhere
    assert python("-m", "weft.octo", "-t", "help") == "simple\n"


def test_wrong_words_of_octo(monkeypatch):
    monkeypatch.setenv("WEFT_JOIN_MS", "300")
    assert "connection refused" in python("-m", "weft.octo", "-p", str(free_port()), "client", "localhost", code=3)
    assert "raised NameError" in python("-m", "weft.octo", "client", script("bad.py", "nosuch\n"), code=1)
    assert "required" in python("-m", "weft.octo", "server", code=2)
    assert "unrecognized" in python("-m", "weft.octo", "server", "a", "b", code=2)
    assert "simple is the only one" in python("-m", "weft.octo", "-t", "other", "server", "a", code=2)
    assert "no such file" in python("-m", "weft.octo", "server", "nosuch.py", code=4)
