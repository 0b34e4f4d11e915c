"""Several stages, the largest pairs, weft.words, and numpy arrays."""
import collections
import os
import subprocess
import sys

import pytest
import weft

pytest.importorskip("cloudpickle")
TEXT = "the cat and the dog\nthe end\tof\x0bit\n\n  \u00e9t\u00e9 na\u00efve\u00a0space \n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_PYTHON", sys.executable)
    (tmp_path / "text").write_bytes(TEXT.encode() + b"\xf8odd \xff\xfe caf\xe9\n")
    return tmp_path


def weft_run(*words, code=0):
    ran = subprocess.run(["weft", "run", "-q", *words], capture_output=True, timeout=60)
    assert ran.returncode == code, ran.stderr.decode()
    return ran.stdout if code == 0 else ran.stderr.decode()


# ---- Words

def test_words_are_those_of_the_built_in_job(folder):
    (folder / "words.py").write_text("import weft\nmapfn = weft.words\nfold = weft.count\n")
    expected = weft_run("wordcount", "text")
    assert weft_run("words.py", "text") == expected
    (folder / "words.py").write_text("import weft\nmapfn = weft.words\nfold = sum\nformat = 'chunks'\n")
    assert weft_run("words.py", "text") == expected
    (folder / "words.py").write_text("import weft\nmapfn = weft.words\nfold = weft.count\nencoding = None\n")
    assert sorted(weft_run("words.py", "text").split(b"\n")) == sorted(expected.split(b"\n"))


def test_words_are_a_function_as_well():
    assert weft.words(" a  b\tc\n") == ["a", "b", "c"] and weft.words(b"a \xff") == [b"a", b"\xff"] and weft.words("") == []
    assert weft.words("na\u00efve\u00a0space \udcff") == ["na\u00efve\u00a0space", "\udcff"]
    with pytest.raises(TypeError, match="weft.words splits str and bytes"):
        weft.words(3)
    assert dict(weft.run(map=weft.words, fold=weft.count, inputs="text"))["the"] == 3
    assert list(weft.run(map=weft.words, inputs="text"))[:2] == [("the", None), ("cat", None)]


# ---- Stages

def test_the_pairs_of_one_run_are_the_input_of_another():
    counts = weft.run(map=weft.words, fold=sum, inputs="text")
    by_count = weft.run(map=lambda word, count: [(count, word)], reduce=lambda count, words: sorted(words), inputs=counts)
    expected = collections.defaultdict(list)
    for word, count in counts:
        expected[count].append(word)
    assert dict(by_count) == {count: sorted(words) for count, words in expected.items()}
    longest = weft.run(map=lambda words: [("words", len(words))], fold=max, inputs=by_count)
    assert dict(longest) == {"words": max(map(len, expected.values()))}
    assert dict(counts)["the"] == 3  # it can still be read


def test_all_types_and_bytes_pass_through_stages(folder):
    values = ["a\nb", "\r\n", "\\n", b"\n\r\\", 10**30, -1.5, None, (1, "\n"), {"x": ["\\"]}, "", ("\r",)]
    first = weft.run(map=lambda number: [(values[number], values[number])], reduce=lambda key, got: got[0],
                     source=list(range(len(values))))
    second = weft.run(map=lambda key, value: [(key, value)], reduce=lambda key, got: got[0], inputs=first)
    assert list(second) == list(first) and sorted(map(repr, dict(enumerate(v for _, v in second)).values())) == sorted(
        map(repr, values))
    weft.run(map=lambda key, value: [(repr(key), 1)], fold=sum, inputs=first, output="out")
    assert len((folder / "out").read_text().splitlines()) == len(values)


def test_many_pairs_pass_through_stages(folder):
    (folder / "large").write_text("".join(f"{number}\n" for number in range(200000)))
    first = weft.run(map=lambda line: [(int(line), "x" * 20)], reduce=lambda key, values: values[0], inputs="large")
    second = weft.run(map=lambda key, value: [(key % 3, len(value))], fold=sum, inputs=first, slots=2)
    assert dict(second) == {rest: 20 * len(range(rest, 200000, 3)) for rest in range(3)}
    assert second.summary["map_tasks"] > 1


def test_a_failure_in_a_later_stage_names_its_pair():
    first = weft.run(map=weft.words, fold=sum, inputs="text")
    with pytest.raises(weft.TaskError, match="one item of the stage before") as caught:
        weft.run(map=lambda word, count: [(word, 1 // (count - 3))], fold=sum, inputs=first, max_attempts=1)
    assert "the item 'the' of the stage before" in str(caught.value) and "weft replay" not in str(caught.value)


# ---- The largest

def test_the_largest_counts(folder):
    (folder / "count.py").write_text("def mapfn(line):\n    return [(word, 1) for word in line.split()]\nfold = sum\n")
    (folder / "lines").write_text("a b a\nc a b d\n")
    assert weft_run("--top", "2", "count.py", "lines") == b"a\t3\nb\t2\n" == weft_run("--top", "2", "wordcount", "lines")
    assert weft_run("--top", "9", "count.py", "lines", "-o", "out") == b"" and (folder / "out").read_bytes() == \
        b"a\t3\nb\t2\nc\t1\nd\t1\n"
    assert list(weft.run(map=weft.words, fold=weft.count, inputs="lines", top=3)) == [("a", 3), ("b", 2), ("c", 1)]
    weft.run(map=weft.words, fold=weft.count, inputs="lines", top=1, output="one")
    assert (folder / "one").read_text() == "a\t3\n"


def test_the_largest_of_a_source(folder):
    (folder / "source.py").write_text("source = [3, 1, 2]\ndef mapfn(value): yield (value,), value / 2\nfold = sum\n")
    assert weft_run("source.py", "--top", "2") == b"(3,)\t1.5\n(2,)\t1.0\n"
    assert "not a number of pairs" in weft_run("--top=x", "source.py", code=2) + weft_run("source.py", "--top=x", code=1)


def test_what_does_not_count_has_no_largest(folder):
    (folder / "lists.py").write_text("def mapfn(line): yield line, 1\ndef reducefn(key, values): return values\n")
    assert "--top needs a job that counts" in weft_run("--top", "2", "lists.py", "text", code=2)
    (folder / "reals.py").write_text("def mapfn(line): yield line, 0.5\nfold = sum\n")
    assert "--top needs whole numbers" in weft_run("--top", "2", "--max-attempts", "1", "reals.py", "text", code=1)


# ---- numpy

def test_arrays_of_numpy_travel_and_are_summed():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    weights = numpy.arange(4.0)
    def pairs(line):
        for word in line.split():
            yield word, weights * len(word)
    summed = dict(weft.run(map=pairs, fold=sum, inputs="text"))
    assert summed["the"].tolist() == [0, 9, 18, 27] and summed["cat"].dtype == numpy.float64
    stacked = dict(weft.run(map=pairs, reduce=lambda key, values: numpy.stack(values), inputs="text"))
    assert stacked["the"].shape == (3, 4)
    largest = dict(weft.run(map=pairs, fold=lambda values: numpy.maximum.reduce(values), inputs="text"))
    assert largest["the"].tolist() == [0, 3, 6, 9]


def test_numbers_of_numpy_are_summed_and_sources_may_be_arrays():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    items = list(numpy.arange(6, dtype="int64").reshape(3, 2))
    got = dict(weft.run(map=lambda row: [("sum", row.sum()), ("mean", row.mean()), (int(row[0]), row)], fold=sum, source=items))
    assert int(got["sum"]) == 15 and float(got["mean"]) == 7.5 and got[2].tolist() == [2, 3]


def test_without_numpy_the_missing_module_is_named(folder):
    (folder / "array.py").write_text("import sys\nsys.modules['numpy'] = None\nimport numpy # mapfn\n")
    assert "numpy" in weft_run("array.py", "text", code=1)
