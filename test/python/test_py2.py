"""The narrow translation of Python 2: what it changes, and that it leaves Python 3 alone."""
import os
import subprocess
import sys

import pytest
from weft import py2


@pytest.mark.parametrize("before, after", [
    ("print\n", "print()\n"),
    ("print a, b  # why\n", "print( a, b)  # why\n"),
    ("print a,\n", 'print( a, end=" ")\n'),
    ("print >>f, a, b\n", "print(  a, b, file=f)\n"),
    ("print >>sys.stderr\n", "print( file=sys.stderr)\n"),
    ("print '%d' % (1,), x\n", "print( '%d' % (1,), x)\n"),
    ("print (1, 2)\n", "print( (1, 2))\n"),
    ("if x: print y; print z\n", "if x: print( y); print( z)\n"),
    ("print f(lambda: 1), {1: 2}\n", "print( f(lambda: 1), {1: 2})\n"),
    ("print = 3\nprint.x\n", "print = 3\nprint.x\n"),
    ("try:\n    pass\nexcept (A, B), e:\n    pass\n", "try:\n    pass\nexcept (A, B) as e:\n    pass\n"),
    ("raise E, 'text'\n", "raise E( 'text')\n"),
    ("raise E\n", "raise E\n"),
    ("print 'a', \\\n    'b'\n", "print( 'a', \\\n    'b')\n"),
])
def test_translation(before, after):
    assert py2.translate(before) == after
    compile(py2.translate(before).replace("print = 3", "x = 3"), "test", "exec")


OLD = """\
def pairs(k, (v, (w, x)), y=(1, 2)): return v + w + x, y
class A(object):
    def both(self, (p, q)):
        "a text"
        return p, q
print pairs(1, (2, (3, 4))), A().both((1, 2)), (lambda x: (x))(3), (lambda a, b=(1, 2), *c: (a, b, c))(1, 2, 3)
print sorted({'a': 3, 'b': 1}.items(), key=lambda (k, v): v), map(lambda (a, (b, c)), d: a + b + c + d, [(1, (2, 3))], [4])
print 7 / 2, 7.0 / 2, -7 / 2, 10L, 0777, 1 <> 2, 1 < 2, sum(range(4)) / len([1, 2])
x, d = 9, {'k': [9]}
x /= 2
d['k'][0] /= 4
print x, d, d.has_key('k'), d.keys()[0], zip([1], [2])[0], (i for i in [5]).next(), filter(None, [0, 1])
for k, v in d.iteritems(): print k, v
import hashlib
print hashlib.md5('caf').hexdigest()[:8], hashlib.sha1().hexdigest()[:4]
print sorted([3, 1, 2], lambda a, b: cmp(b, a)), reduce(lambda a, b: a * b, [2, 3, 4]), sys.maxint > 5
"""


def test_what_old_scripts_mean():
    """As CPython 2.7 prints it, but for the L of large ints."""
    ran = subprocess.run([sys.executable, "-c", "import sys; from weft import py2; text = 'import sys\\n' + sys.stdin.read(); "
                          "exec(compile(py2.tree_of(text, 'old'), 'old', 'exec'), dict(py2.NAMES))"], input=OLD, capture_output=True, text=True)
    assert ran.stdout.splitlines() == [
        "(9, (1, 2)) (1, 2) 3 (1, 2, (3,))", "[('b', 1), ('a', 3)] [10]", "3 3.5 -4 10 511 True True 3", "4 {'k': [2]} True k (1, 2) 5 [1]", "k [2]",
        "a041fd74 da39", "[3, 2, 1] 24 True"], ran.stderr


def test_division_of_the_future_is_left_alone():
    ran = subprocess.run([sys.executable, "-c", "from weft import py2; exec(compile(py2.tree_of('from __future__ import division\\nprint 7 / 2\\n', 'old'), "
                          "'old', 'exec'), dict(py2.NAMES))"], capture_output=True, text=True)
    assert ran.stdout == "3.5\n", ran.stderr


def test_texts_of_any_bytes_come_out_as_they_went_in(tmp_path):
    (tmp_path / "book.txt").write_bytes(b"caf\xe9 na\xc3\xafve\r\n")
    (tmp_path / "s.py").write_text("source = {'a': open('book.txt').read()}\ndef mapfn(k, v): return [(word, 1) for word in v.split()]\n"
                                   "def reducefn(k, vs): return len(vs)\ndef final(k, v): print k, v\n")
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.stdout == b"caf\xe9 1\nna\xc3\xafve 1\n", ran.stderr


HUMPTY = """\
import mincemeat, sys
def mapfn(k, (v, n)):
    for word in v.split(): yield word, n / 2
def reducefn(k, vs): return sum(vs)
s = mincemeat.Server()
s.datasource, s.mapfn, s.reducefn = {1: ("a b a", 5)}, mapfn, reducefn
print(sorted(s.run_server(password="changeme").items()))
"""


@pytest.mark.parametrize("hide", ["", "import sys; sys.modules['cloudpickle'] = None\n"])
def test_a_script_beside_the_original_mincemeat(tmp_path, hide):
    """That is of Python 2, and has another protocol."""
    (tmp_path / "mincemeat.py").write_text("import cPickle as pickle\nprint 'original'\n")
    (tmp_path / "s.py").write_text(hide + HUMPTY)
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.stdout == "[('a', 4), ('b', 2)]\n", ran.stderr
    assert "import mincemeat means that of Weft, not" in ran.stderr
    (tmp_path / "s.py").write_text(HUMPTY.replace("(v, n)", "v").replace("n / 2", "len(v) / 2"))  # nothing that Python 3 cannot read
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.stdout == "[('a', 2), ('b', 1)]\n".replace("2", "2") or "AttributeError" in ran.stderr


def test_a_failure_of_a_server_has_its_lines(tmp_path):
    (tmp_path / "s.py").write_text("import mincemeat\ns = mincemeat.Server()\ns.datasource, s.reducefn = {1: 1}, max\n"
                                   "s.mapfn = lambda k, v: 1 // 0\ns.run_server()\n")
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.returncode == 1 and "\nweft: map fails on one item of the source" in ran.stderr
    assert ran.stderr.splitlines()[-1] == "    at the item 1 of the source", ran.stderr


def test_a_script_is_run_by_the_module(tmp_path):
    name = tmp_path / "old.py"
    name.write_text("import sys\nfor i in xrange(2):\n    print i, sys.argv[1],\nprint\nif __name__ == '__main__': print 'main'\n")
    ran = subprocess.run([sys.executable, "-m", "weft.py2", str(name), "x"], capture_output=True, text=True)
    assert ran.stdout == "0 x 1 x \nmain\n" and "is of Python 2" in ran.stderr
