"""Jobs of another machine: the words of the command as a client settles them (src/run/package/take.h)."""
import json
import os
import subprocess
import sys

import pytest
import weft
from weft import script, travel

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(weft.__file__)))


@pytest.fixture
def job(tmp_path):
    """A script with a module beside it; on the client both are in `here`, and nothing else of the server is there."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "wc.py").write_text("import cut\n\ndef mapfn(line):\n    for word in cut.words(line):\n        yield word, 1\n\nfold = sum\n")
    (here / "cut.py").write_text("def words(line):\n    return line.split()\n")
    (tmp_path / "in").write_text("a b a\n")
    return here


def describe(**more):
    """What a server would send."""
    description = {"kind": "sum", "main": {"path": "/of/the/server/wc.py", "name": "wc"}, "path": ["/of/the/server"],
                   "argv": ["wc.py"], "map": {"main": "mapfn"}, "reduce": None, "fold": None, "wants_name": False,
                   "passes_emit": False, "is_bytes": False, "convert": None, "python": sys.version_info[:2],
                   "errors": "/of/the/server/errors"}
    return {**description, **more}


def run(here, description):
    words = ["weft", "run", "-q", "@python", "-K", "sum", "-P", sys.executable, "-L", PACKAGE, "-S", str(here / "wc.py"),
             "-J", json.dumps(description), str(here.parent / "in")]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def test_a_script_is_found_where_it_was_put(job):
    assert run(job, describe(here=str(job))) == (0, "a\t2\nb\t1\n", "")


def test_the_paths_of_the_server_are_not_used(job):
    status, _, error = run(job, describe())
    assert status == 1 and "/of/the/server" in error


def test_modules_of_this_machine_are_known(job):
    """The interpreter of a slot starts without them."""
    (job / "cut.py").write_text("import pytest\n\ndef words(line):\n    return line.split()\n")
    assert run(job, describe(here=str(job)))[:2] == (0, "a\t2\nb\t1\n")


def test_functions_by_value_need_the_same_python(job):
    status, _, error = run(job, describe(here=str(job), map={"pickle": ""}, python=[3, 1]))
    assert status == 1
    assert "the server has 3.1, and this machine has %d.%d" % sys.version_info[:2] in error


def test_a_script_works_with_another_python(job):
    assert run(job, describe(here=str(job), python=[3, 1]))[0] == 0


def test_modules_beside_a_script_belong_to_it(job, monkeypatch):
    monkeypatch.syspath_prepend(str(job))
    sys.modules.pop("cut", None)
    script.load_script(str(job / "wc.py"))
    assert travel.files_of({"path": str(job / "wc.py")}, None) == [str(job / "wc.py"), str(job / "cut.py")]
    sys.modules.pop("cut", None)
