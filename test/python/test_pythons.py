"""Every other CPython that is found runs the module of this build, which is of the limited API of 3.11; older ones are skipped by name. A line for
each is printed at the end.

`tools/test wheel` installs the wheel in all of them, and builds it from the source for 3.9 and 3.10.
"""
import glob
import os
import pathlib
import subprocess
import sys

import pytest
import weft

TESTS = pathlib.Path(__file__).resolve().parent
PROGRAM = """\
import sys
import weft
def words(line):
    for word in line.split():
        yield (word, 2**70, None, 1.5, b"x"), 1
if __name__ == "__main__":
    pairs = list(weft.run(map=words, fold=sum, inputs="text"))
    assert pairs == [(("a", 2**70, None, 1.5, b"x"), 3), (("b", 2**70, None, 1.5, b"x"), 1)], pairs
    with weft.connect(sys.argv[1]) as c:
        queue = c.queue("pythons %d.%d" % sys.version_info[:2])
        queue.push("item")
        queue.close()
        assert [item.text for item in queue] == ["item"]
"""


def find():
    """Version -> path, one of each minor version."""
    places = glob.glob("/usr/bin/python3.[0-9]") + glob.glob("/usr/bin/python3.[0-9][0-9]")
    places += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    found = {}
    for path in sorted(places):
        ran = subprocess.run([path, "-S", "-c", "import sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"],
                             capture_output=True, text=True)
        name, version = (ran.stdout.split() + ["", ""])[:2]
        if name == "cpython" and version != "%d.%d" % sys.version_info[:2]:
            found.setdefault(version, path)
    return sorted(found.items())


@pytest.mark.parametrize("version, path", find() or [("none", None)], ids=lambda value: str(value).rpartition("/")[2])
def test_another_python(version, path, host, tmp_path, record_python):
    number = tuple(map(int, version.split("."))) if path else None
    reason = ("not found" if number is None else "too old" if number < (3, 9) else
              "older than the limited API; tools/test wheel builds a module for it" if number < (3, 11) else None)
    record_python(version, reason)
    if reason:
        pytest.skip(f"CPython {version}: {reason}")
    (tmp_path / "text").write_text("a b a\na\n")
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "s.py").write_text("import sys\ndef mapfn(line): yield '%d.%d' % sys.version_info[:2], len(line)\nfold = sum\n")
    env = {**os.environ, "WEFT_PYTHON": path}
    ran = subprocess.run([path, "program.py", host.address], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    ran = subprocess.run(["weft", "run", "-q", "s.py", "text"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, f"{version}\t6\n"), ran.stderr
    assert weft.__version__ in subprocess.run([path, "-c", "import weft; print(weft.__version__)"], capture_output=True, text=True).stdout
