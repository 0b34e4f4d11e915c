"""The package itself: what `import weft` gives, and that its two halves belong together."""
import subprocess

import pytest
import weft


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


def test_all_that_is_promised_is_there():
    for name in weft.__all__:
        assert getattr(weft, name) is not None
