"""The package itself: what `import weft` gives, and that its two halves belong together."""
import ast
import pathlib
import subprocess

import pytest
import weft
from weft import _weft


def test_the_version_is_that_of_the_command():
    said = subprocess.run(["weft", "version"], capture_output=True, text=True, check=True).stdout
    assert said.split()[1] == weft.__version__


def test_every_error_code_has_a_class():
    said = {cls.code: cls for cls in vars(weft).values()
            if isinstance(cls, type) and issubclass(cls, weft.Error) and cls is not weft.Error}
    assert sorted(said) == list(range(1, 17))
    assert said[5] is weft.NotFound and weft.NotFound.code_name == "NOT_FOUND"


@pytest.mark.parametrize("error, builtin", [
    (weft.DeadlineExceeded, TimeoutError), (weft.Unavailable, ConnectionError),
    (weft.InvalidArgument, ValueError), (weft.PermissionDenied, PermissionError)])
def test_errors_are_also_what_python_programs_catch(error, builtin):
    assert issubclass(error, builtin) and issubclass(error, weft.Error)


def test_every_name_of_the_module_has_its_types():
    """The stub and the module do not drift apart."""
    stub = pathlib.Path(weft.__file__).with_name("_weft.pyi").read_text()
    described = {node.name: node for node in ast.parse(stub).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    own = {name for name in vars(_weft) if not name.startswith("_")} - {"KvWalk", "QueueItems"}
    assert own == set(described)
    for name in ("Cluster", "Item", "Queue", "Var", "Kv", "Barrier"):
        methods = {part.name for part in described[name].body if isinstance(part, ast.FunctionDef)}
        real = {part for part in vars(getattr(_weft, name)) if not part.startswith("__")}
        assert real <= methods and methods - real <= {"__init__", "__enter__", "__exit__", "__len__", "__iter__"}


def test_all_that_is_promised_is_there():
    for name in weft.__all__:
        assert getattr(weft, name) is not None
