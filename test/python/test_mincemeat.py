"""Scripts of mincemeat.py and of octo.py, by their own names."""
import hashlib
import subprocess
import sys
import textwrap

import pytest
import weft

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
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(*words, code=0):
    ran = subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60)
    assert ran.returncode == code, ran.stderr
    return ran.stdout if code == 0 else ran.stderr


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


@pytest.mark.parametrize("hide", ["", "import sys; sys.modules['cloudpickle'] = None\n"])
def test_the_example_of_mincemeat(hide):
    name = script("example.py", hide + textwrap.dedent(EXAMPLE).replace("print RESULTS", "print(sorted(results.items())[:3])"))
    assert python(name) == "[('All', 1), (\"Couldn't\", 1), ('Dumpty', 2)]\n"


def test_the_example_with_its_print_statement():
    name = script("example.py", textwrap.dedent(EXAMPLE).replace("RESULTS", "results['Humpty']"))
    assert python("-m", "weft.py2", name) == "3\n"


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
    assert python(name) == "{1: [2]} [('x', 1), ('y', 1)]\n"


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
    assert python(name) == "{'y': ['%s']}\n" % hashlib.sha1(b"x/y").hexdigest()[:4]


def test_collectfn_joins_the_values_of_one_task():
    server = mincemeat.Server()
    server.datasource = {"a": "x y x", "b": "x"}
    server.mapfn = lambda k, v: [(word, 1) for word in v.split()]
    server.collectfn = lambda k, vs: (sum(vs), len(vs))
    server.reducefn = lambda k, vs: sorted(vs)
    assert server.run_server() == {"x": [(1, 1), (2, 2)], "y": [(1, 1)]}


def test_an_empty_datasource_and_reducefn_that_returns_nothing():
    server = mincemeat.Server()
    server.datasource, server.mapfn, server.reducefn = {}, lambda k, v: [(k, v)], lambda k, vs: None
    assert server.run_server() == {}
    server.datasource = {1: 1}
    assert server.run_server() == {1: None}


def test_failures():
    server = mincemeat.Server()
    with pytest.raises(weft.InvalidArgument, match="no datasource"):
        server.run_server()
    server.datasource, server.mapfn = {"bad": 1}, lambda k, v: [(k, 1 // 0)]
    with pytest.raises(weft.InvalidArgument, match="no reducefn"):
        server.run_server()
    server.reducefn = lambda k, vs: vs
    with pytest.raises(weft.TaskError, match="the item 'bad' of the source"):
        server.run_server()


def test_there_are_no_clients_yet():
    with pytest.raises(weft.Unimplemented, match="no clients of mincemeat"):
        mincemeat.Client().conn("localhost", mincemeat.DEFAULT_PORT)
    assert "no clients of mincemeat" in python("-m", "mincemeat", "-p", "changeme", "localhost", code=2)
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
    name = script("guide.py", GUIDE)
    expected = "cat ('cat', 1)\ndog ('dog', 1)\nthe ('the', 2)\n"
    assert python("-m", "weft.octo", "server", name) == expected
    assert python("-m", "weft.octo", "-t", "simple", "-p", "18273", "-v", "SERVER", name) == expected
    assert python("-m", "weft.octo", "-t", "help") == "simple\n"


def test_wrong_words_of_octo():
    assert "no clients of octo.py" in python("-m", "weft.octo", "client", "localhost", code=2)
    assert "required" in python("-m", "weft.octo", "server", code=2)
    assert "unrecognized" in python("-m", "weft.octo", "server", "a", "b", code=2)
    assert "simple is the only one" in python("-m", "weft.octo", "-t", "other", "server", "a", code=2)
    assert "no such file" in python("-m", "weft.octo", "server", "nosuch.py", code=4)
