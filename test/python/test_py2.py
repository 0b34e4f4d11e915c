"""The narrow translation of Python 2: what it changes, and that it leaves Python 3 alone."""
import os
import subprocess
import sys

import pytest
from weft import code, py2


@pytest.mark.parametrize("before, after", [
    ("print\n", "print()\n"),
    ("print a, b  # why\n", "print( a, b)  # why\n"),
    ("print a,\n", "print( a, more=True)\n"),
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
    (tmp_path / "s.py").write_text(HUMPTY.replace("(v, n)", "v").replace("n / 2", "len(v) / 2").replace('("a b a", 5)', '"a b a"'))
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.stdout == "[('a', 4), ('b', 2)]\n", ran.stderr  # also where Python 3 can read the script


def test_a_failure_of_a_server_has_its_lines(tmp_path):
    (tmp_path / "s.py").write_text("import mincemeat\ns = mincemeat.Server()\ns.datasource, s.reducefn = {1: 1}, max\n"
                                   "s.mapfn = lambda k, v: 1 // 0\ns.run_server()\n")
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.returncode == 1 and ran.stderr.startswith("weft: map fails on one item of the source")
    assert ran.stderr.splitlines()[-1] == "    at the item 1 of the source", ran.stderr


def test_a_script_is_run_by_the_module(tmp_path):
    name = tmp_path / "old.py"
    name.write_text("import sys\nfor i in xrange(2):\n    print i, sys.argv[1],\nprint\nif __name__ == '__main__': print 'main'\n")
    ran = subprocess.run([sys.executable, "-m", "weft.py2", str(name), "x"], capture_output=True, text=True)
    assert ran.stdout == "0 x 1 x\nmain\n" and "is of Python 2" in ran.stderr


SHOWN = r"""import sys, os, string, csv, cPickle, hashlib
from StringIO import StringIO
import cPickle as pickle
def show(): print 'é', ('é', 'a\'b', "x\n", 1.0, 0.1, 10**20, None, True, [u'a'.encode('utf-8')], {'é': 0.1}), set(['é']), frozenset([1])
show()
print 0.1 + 0.2, 1.0, 1e16, 10**12 * 1.0, 2 ** 70, [2 ** 70, 2.5], 1 / 3.0, -0.0, float('inf')
print str(0.1 + 0.2), repr(0.1 + 0.2), str((1, 'é')), repr('é'), str('é')
print '%s %d %r %5.2f' % (0.1 + 0.2, 3.7, 'é', 2.5), '%s' % 0.3333333333333333, '%(a)s|%(b)s' % {'a': ('é',), 'b': 1 / 3.0}, '%s' % [1, 'é'], '%s%%' % 5
print '{0} {1:.2f} {x}'.format(1 / 3.0, 2 / 3.0, x=0.1 + 0.2)
print 1, 2,
print 3
print 'a\n',
print 'b\t',
print 'c',
print
print >>sys.stdout, 'd',
print 'e'
print
print round(2.5), round(-2.5), round(2.567, 2), range(3) + [7], 7 / 2
print string.lower('ABC'), string.join(['a', 'b'], '-'), string.split('a b'), string.letters[:3], string.uppercase[-1]
print 'a,b.c'.translate(None, ',.'), 'a,b'.translate(string.maketrans('ab', 'xy')), 'a,b'.translate(string.maketrans('', ''), ',')
print 'abc'.encode('hex'), '616263'.decode('hex'), 'é'.decode('utf-8').encode('utf-8')
print unichr(97).encode('utf-8'), [unichr(97).encode('utf-8')], u'é'.encode('utf-8')
m = hashlib.md5(); m.update('abc'); print m.hexdigest()[:6]
f = open('o.csv', 'wb'); w = csv.writer(f, delimiter=';'); w.writerow(['a', 1, 2.5]); f.write('é\n'); f.close()
print list(csv.reader(open('o.csv', 'rb'), delimiter=';')), open('o.csv').read()
with open('o.pkl', 'wb') as f: pickle.dump({'a': [1, 'é']}, f)
print pickle.load(open('o.pkl', 'rb')), cPickle.loads(cPickle.dumps((1, 'x')))
s = StringIO(); s.write('text'); print s.getvalue()
open('names.inc', 'w').write('print "included", len(words)\nmore = xrange(2)\n'); words = ['a']
execfile('names.inc'); print list(more), os.remove('names.inc'), os.remove('o.csv'), os.remove('o.pkl')
class A(object):
    def __str__(self): return 'an A'
print A(), [str(A())], '%s' % A(), isinstance('x', str), str is str, map(str, [1, 0.1])
print 'last',
"""
# What CPython 2.7 prints for it.
SHOWN_BY_2_7 = r"""é ('\xc3\xa9', "a'b", 'x\n', 1.0, 0.1, 100000000000000000000L, None, True, ['a'], {'\xc3\xa9': 0.1}) set(['\xc3\xa9']) frozenset([1])
0.3 1.0 1e+16 1e+12 1180591620717411303424 [1180591620717411303424L, 2.5] 0.333333333333 -0.0 inf
0.3 0.30000000000000004 (1, '\xc3\xa9') '\xc3\xa9' é
0.3 3 '\xc3\xa9'  2.50 0.333333333333 ('\xc3\xa9',)|0.333333333333 [1, '\xc3\xa9'] 5%
0.333333333333 0.67 0.3
1 2 3
a
b	c
d e

3.0 -3.0 2.57 [0, 1, 2, 7] 3
abc a-b ['a', 'b'] abc Z
abc x,y ab
616263 abc é
a ['a'] é
900150
[['a', '1', '2.5'], ['\xc3\xa9']] a;1;2.5
é

{'a': [1, '\xc3\xa9']} (1, 'x')
text
included 1
[0, 1] None None None
an A ['an A'] an A True True ['1', '0.1']
last
"""


def test_print_and_texts_show_values_as_python_2_does(tmp_path):
    (tmp_path / "old.py").write_text(SHOWN, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-m", "weft.py2", "old.py"], cwd=tmp_path, capture_output=True, env={**os.environ, "LC_ALL": "C"})
    assert ran.stdout.decode().splitlines() == SHOWN_BY_2_7.splitlines(), ran.stderr.decode()


@pytest.mark.parametrize("name, is_old", [
    ("for i in xrange(2): pass", True), ("print(unichr(65))", True), ("execfile('x')", True), ("raw_input", True),
    ("xrange = range\nxrange(2)", False), ("from six.moves import xrange\nxrange(2)", False), ("def f(unicode): return unicode", False),
    ("try:\n    xrange\nexcept NameError:\n    pass", False), ("from x import *\nxrange(2)", False), ("'xrange'", False),
    ("import sys\nif sys.version_info[0] < 3: text = unicode", False), ("xrange(", False)])
def test_a_script_that_python_3_can_read_is_old_if_it_uses_names_of_python_2(name, is_old):
    assert code.has_old_names(name.encode()) == is_old


def test_such_a_script_runs(tmp_path):
    (tmp_path / "s.py").write_text("source = {1: 7}\ndef mapfn(k, v):\n    for i in xrange(2): yield i, v / 2\n"
                                   "def reducefn(k, vs): return vs\ndef final(k, v): print(v)\n")
    ran = subprocess.run(["weft", "run", "-q", "s.py"], cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.stdout == "[3]\n[3]\n" and "is of Python 2" in ran.stderr
