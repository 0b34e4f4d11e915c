"""The narrow translation of Python 2: what it changes, and that it leaves Python 3 alone."""
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


def test_a_script_is_run_by_the_module(tmp_path):
    name = tmp_path / "old.py"
    name.write_text("import sys\nfor i in xrange(2):\n    print i, sys.argv[1],\nprint\nif __name__ == '__main__': print 'main'\n")
    ran = subprocess.run([sys.executable, "-m", "weft.py2", str(name), "x"], capture_output=True, text=True)
    assert ran.stdout == "0 x 1 x \nmain\n" and "is of Python 2" in ran.stderr
