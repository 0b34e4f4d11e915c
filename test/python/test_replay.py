"""`weft replay ID --debug` of Python jobs, in a terminal."""
import os
import pty
import re
import select
import subprocess
import sys

import pytest
import weft


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_PYTHON", sys.executable)
    return tmp_path


def fail(name, text, lines, *words):
    """Runs a script that fails on a record; returns the ID of its replay."""
    with open(name, "w") as file:
        file.write(text)
    with open("lines", "w") as file:
        file.write(lines)
    ran = subprocess.run(["weft", "run", "-q", "--max-attempts", "1", name, *words, "lines"], stderr=subprocess.PIPE, text=True,
                         timeout=60)
    assert ran.returncode == 1 and "(--debug: in pdb)" in ran.stderr, ran.stderr
    return re.search(r"weft replay (\w+)", ran.stderr).group(1)


def in_terminal(identifier, *dialogue):
    """Types each line when pdb asks for one; returns (exit code, all that the terminal showed)."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["weft", "replay", identifier, "--debug"], stdin=theirs, stdout=theirs, stderr=theirs,
                               start_new_session=True, env={**os.environ, "TERM": "dumb"})
    os.close(theirs)
    shown, asked, lines = "", 0, list(dialogue)
    while True:
        assert select.select([ours], [], [], 60)[0], f"nothing more came after {shown!r}"
        try:
            data = os.read(ours, 65536)
        except OSError:  # the terminal has no other end any more
            break
        shown += data.decode()
        if shown.count("(Pdb) ") > asked and lines:
            asked += 1
            os.write(ours, lines.pop(0).encode() + b"\n")
    os.close(ours)
    return process.wait(60), shown.replace("\r\n", "\n")


def test_pdb_opens_at_the_first_line_of_mapfn_and_again_where_it_raised():
    identifier = fail("numbers.py", "def mapfn(line):\n    for word in line.split():\n        yield word, int(word)\nfold = sum\n",
                      "1 2\n3 x\n")
    code, shown = in_terminal(identifier, "p 'the line is', line", "continue", "p 'the word is', word", "quit")
    assert code == 1 and "mapfn is called with '3 x' of lines" in shown
    first, _, rest = shown.partition("('the line is', '3 x')")
    assert "numbers.py(2)mapfn()" in first
    assert "('3', 3)" in rest and "mapfn raised ValueError" in rest and "('the word is', 'x')" in rest


def test_a_record_of_csv_is_a_dict_and_emit_shows_its_pairs():
    identifier = fail("rows.py", "import os\nformat = 'csv:header'\ndef mapfn(name, row, emit):\n    emit(row['a'], 1)\n"
                      "    if not os.path.exists('good'): raise KeyError('b')\nfold = sum\n", "a,b\nx,1\n")
    open("good", "w").close()
    code, shown = in_terminal(identifier, "p sorted(row), name", "next", "continue")
    assert code == 0 and "(['a', 'b'], 'lines')" in shown
    assert "('x', 1)" in shown and "the record did not fail this time" in shown


def test_quitting_is_no_failure_and_functions_by_value_can_be_debugged(folder, capfd):
    pytest.importorskip("cloudpickle")
    (folder / "lines").write_text("a\n")
    with pytest.raises(weft.TaskError) as caught:
        weft.run(map=lambda line: [(line, 1 // 0)], fold=sum, inputs="lines", max_attempts=1)
    code, shown = in_terminal(re.search(r"weft replay (\w+)", str(caught.value)).group(1), "p 'it is', line", "quit")
    assert code == 0 and "('it is', 'a')" in shown


def test_an_item_of_a_source_cannot_be_replayed_and_is_not_called_a_record_of_a_file():
    pytest.importorskip("cloudpickle")
    with pytest.raises(weft.TaskError, match="map fails on one item of the source") as caught:
        weft.run(map=lambda key, value: [(key, 1 // value)], fold=sum, source={"zero": 0}, max_attempts=1)
    assert "weft replay" not in str(caught.value) and "the item 'zero' of the source" in str(caught.value)
    assert "items" not in str(caught.value) and "offset" not in str(caught.value)
