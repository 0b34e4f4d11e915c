"""weft.run() from scripts, -c and prompts: how code travels, sources, results, failures."""
import collections
import os
import subprocess
import sys
import textwrap

import pytest
import weft
from conftest import is_sanitized

cloudpickle = pytest.importorskip("cloudpickle")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b a\nc a\n")
    return tmp_path


def python(*words, text=None, code=0):
    ran = subprocess.run([sys.executable, *words], input=text, capture_output=True, text=True, timeout=60)
    assert ran.returncode == code, ran.stderr
    return ran.stdout if code == 0 else ran.stderr


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


def words_of(line):
    for word in line.split():
        yield word, 1


# ---- How code travels

def test_word_count_in_seven_lines():
    script("count.py", """\
        import weft
        def words(line):
            for word in line.split():
                yield word, 1
        if __name__ == "__main__":
            for word, count in weft.run(map=words, fold=sum, inputs="text"):
                print(word, count)
        """)
    assert python("count.py") == "a 3\nb 1\nc 1\n"


def test_functions_of_the_main_file_travel_by_name_and_an_unguarded_run_ends_the_import():
    script("main.py", """\
        import weft
        class Word:
            def __init__(self, text): self.text = text
        def words(line):
            return [(word, Word(word)) for word in line.split()]
        def join(key, values):
            yield key, "".join(one.text for one in values)
        print(dict(weft.run(map=words, reduce=join, inputs="text", slots=1)))
        raise SystemExit("never reached in a slot") if weft.code.in_slot else SystemExit
        """)
    assert python("main.py") == "{'a': 'aaa', 'b': 'b', 'c': 'c'}\n"


def test_importable_functions_travel_by_name(folder):
    script("helpers.py", """\
        def pairs(line): return [(line, len(line))]
        class Tools:
            @staticmethod
            def longest(values): return max(values)
        """)
    got = python("-c", "import weft, helpers; print(dict(weft.run(map=helpers.pairs, fold=helpers.Tools.longest,"
                       " inputs='text')))")
    assert got == "{'a b a': 5, 'c a': 3}\n"


def test_lambdas_and_closures_travel_by_value():
    factor = 10
    assert dict(weft.run(map=lambda line: [(w, factor) for w in line.split()], fold=sum, inputs="text")) == {
        "a": 30, "b": 10, "c": 10}


@pytest.mark.parametrize("mapfn", [
    "lambda line: [(word, 1) for word in line.split()]", "functools.partial(cut, 1)", "Cut()", "Cut().cut", "named",
    "functools.partial(named_cut, 1)"])
def test_whatever_the_mapfn_of_a_script_is_it_needs_no_cloudpickle(mapfn):
    script("cloudpickle.py", "raise ImportError('not here')")
    script("s.py", f"""\
        import functools
        def cut(count, line): return [(word, count) for word in line.split()]
        def named_cut(count, name, line): return cut(count, line) if name == "text" else []
        class Cut:
            def __call__(self, line): return cut(1, line)
            def cut(self, line): return cut(1, line)
        def wrapped(function):
            @functools.wraps(function)
            def inner(*arguments): return function(*arguments)
            return inner
        @wrapped
        def named(name, line): return named_cut(1, name, line)
        mapfn = {mapfn}
        fold = lambda values: sum(values)
        """)
    ran = subprocess.run(["weft", "run", "-q", "s.py", "text"], capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "a\t3\nb\t1\nc\t1\n"), ran.stderr


def test_without_cloudpickle_the_function_is_named():
    hide = "import sys; sys.modules['cloudpickle'] = None; import weft; weft.run(map=lambda line: [], inputs='text')"
    said = python("-c", hide, code=1)
    assert "lambda" in said and "pip install cloudpickle" in said and "InvalidArgument" in said


def test_a_function_of_a_job_may_run_another_one():
    script("nested.py", """\
        import weft
        def letters(word):
            return [letter.upper() for letter in word]
        def words(line):
            for letter, count in weft.run(map=letters, fold=weft.count, source=line.split()):
                yield letter, count
        if __name__ == "__main__":
            print(dict(weft.run(map=words, fold=sum, inputs="text")))
        else:
            mapfn, fold = words, sum
        """)
    assert python("nested.py") == "{'A': 3, 'B': 1, 'C': 1}\n"
    ran = subprocess.run(["weft", "run", "-q", "nested.py", "text"], capture_output=True, text=True)
    assert ran.stdout == "A\t3\nB\t1\nC\t1\n", ran.stderr


def test_at_a_prompt():
    text = "import weft\ndef words(line): return line.split()\n\nprint(dict(weft.run(map=words, fold=weft.count, inputs='text')))\n"
    assert "{'a': 3, 'b': 1, 'c': 1}" in python("-i", "-q", text=text)


# ---- Results

def test_results_are_typed_sorted_and_can_be_read_twice():
    def pairs(line):
        yield len(line), {line}
        yield (1, "x"), 2.5
        yield None, b"\xff"
    result = weft.run(map=pairs, reduce=lambda key, values: values, inputs="text")
    assert list(result) == list(result) == [
        (None, [b"\xff", b"\xff"]), (3, [{"c a"}]), (5, [{"a b a"}]), ((1, "x"), [2.5, 2.5])]
    assert len(result) == 4 and result.summary["records_in"] == 2


def test_without_reduce_pairs_come_in_input_order():
    assert list(weft.run(map=lambda line: [line], inputs="text")) == [("a b a", None), ("c a", None)]


def test_output_is_text(folder):
    result = weft.run(map=words_of, fold=sum, inputs=folder / "text", output=folder / "out", slots=2)
    assert (folder / "out").read_text() == "a\t3\nb\t1\nc\t1\n"
    with pytest.raises(ValueError, match="the pairs are in"):
        list(result)


def test_many_pairs_are_read_in_pieces(folder):
    (folder / "large").write_text("".join(f"key{number} {'v' * (number % 50)}\n" for number in range(60000)))
    result = weft.run(map=lambda line: [tuple(line.split(" "))], reduce=lambda key, values: values[0], inputs="large")
    got = list(result)
    assert len(got) == len(result) == 60000 and got == sorted(got)
    assert dict(got)["key49"] == "v" * 49


@pytest.mark.skipif(is_sanitized, reason="a sanitized interpreter takes more memory")
def test_mostly_distinct_keys_of_all_types_in_little_memory(folder):
    (folder / "large").write_text("".join(f"{number}\n" for number in range(40000)))
    def pairs(line):
        number = int(line)
        return [(number, 1), (-number, 1.5), (str(number % 1000), 2**50), ((number % 10, "x"), 1)]
    expected = collections.Counter()
    for number in range(40000):
        for key, value in pairs(str(number)):
            expected[key] += value
    assert dict(weft.run(map=pairs, fold=sum, inputs="large", memory="80M", slots=2)) == dict(expected)


# ---- Sources

def test_a_source_is_listed_once_and_each_value_is_read_once():
    class Books:
        reads, lists = [], 0
        def __iter__(self):
            self.lists += 1
            return iter(["x", "y", (1, 2)])
        def __getitem__(self, key):
            self.reads.append(key)
            return {"of": key}
    books = Books()
    got = weft.run(map=lambda key, value: [(key, value["of"] == key)], reduce=lambda key, values: values, source=books)
    assert dict(got) == {"x": [True], "y": [True], (1, 2): [True]}
    assert sorted(map(str, books.reads)) == ["(1, 2)", "x", "y"] and books.lists == 1


def test_a_list_is_a_source_with_many_items():
    got = weft.run(map=lambda value: [(value % 7, value)], fold=sum, source=list(range(1000)), slots=2)
    assert dict(got) == {rest: sum(range(rest, 1000, 7)) for rest in range(7)}
    assert got.summary["map_tasks"] == 1000


def test_a_source_whose_value_cannot_be_read():
    class Bad(dict):
        def __getitem__(self, key):
            raise OSError(f"no {key}")
    with pytest.raises(weft.TaskError, match=r"source\['k'\] raised OSError: no k"):
        weft.run(map=lambda value: [], source=Bad(k=1), max_attempts=1)
    with pytest.raises(weft.InvalidArgument, match="source is"):
        weft.run(map=lambda value: [], source=iter([1]))


# ---- Failures

def test_an_exception_of_user_code_is_the_cause():
    def fails(line):
        return {"x": {}["missing"]}
    with pytest.raises(weft.TaskError, match="raised KeyError: 'missing'") as caught:
        weft.run(map=fails, fold=sum, inputs="text", max_attempts=1)
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.args == ("missing",)
    assert "the record 'a b a', byte 0 of text" in str(caught.value)


class Wordless(Exception):
    def __str__(self):
        raise ValueError


def raise_noted():
    error = ValueError("a b")
    if hasattr(error, "add_note"):
        error.add_note("of the third kind")
    raise error


def raise_from():
    try:
        {}["x"]
    except KeyError as error:
        raise OSError("outer") from error


def raise_wordless():
    raise Wordless


@pytest.mark.parametrize("function, text", [
    (raise_noted, "ValueError: a b of the third kind" if sys.version_info >= (3, 11) else "ValueError: a b"),
    (raise_from, "OSError: outer\n(.|\n)*\n  +from KeyError: 'x'\n"), (raise_wordless, "Wordless: its text raised ValueError")])
def test_what_an_exception_says(function, text):
    with pytest.raises(weft.TaskError, match="mapfn raised " + text):
        weft.run(map=lambda line: function(), inputs="text", max_attempts=1)


@pytest.mark.parametrize("arguments, error, text", [
    (dict(map=words_of, fold=sum), weft.InvalidArgument, "inputs= or source="),
    (dict(map=words_of, fold=sum, inputs="nosuch"), weft.NotFound, "nosuch"),
    (dict(map=words_of, fold=sum, reduce=sum, inputs="text"), weft.InvalidArgument, "a fold and a reducefn"),
    (dict(map=3, inputs="text"), weft.InvalidArgument, "not a function"),
    (dict(map=words_of, fold="sum", inputs="text"), weft.InvalidArgument, "not a function"),
    (dict(map=words_of, fold=sum, inputs=[]), weft.InvalidArgument, "no inputs"),
    (dict(map=words_of, fold=sum, inputs="text", nosuch=1), weft.InvalidArgument, "unknown option --nosuch"),
    (dict(map=words_of, fold=sum, inputs="text", memory="20M"), weft.ResourceExhausted, "--memory is too small"),
])
def test_wrong_calls(arguments, error, text):
    with pytest.raises(error, match=text):
        weft.run(**arguments)


def calls_of(name):
    with open(name) as file:
        return collections.Counter(file.read().split())


@pytest.mark.parametrize("end", ["fold = sum", "reducefn = lambda key, values: sum(values)", "fold = lambda values: sum(values)"])
def test_a_raising_record_among_slow_tasks_costs_only_its_own_attempts(end):
    name = script("slow.py", f"""\
        import os, time
        source = {{number: number for number in range(40)}}
        log = os.open("calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        def mapfn(key, value):
            os.write(log, b"%d " % key)
            time.sleep(0.01)
            yield key % 3, value
            if key == 30: raise ValueError(key)
        {end}
        """)
    got = subprocess.run(["weft", "run", "--slots", "2", "--max-attempts", "2", "--skip-bad", "1", name], capture_output=True, text=True, timeout=60)
    expected = collections.Counter()
    for number in [*range(30), *range(31, 40)]:
        expected[number % 3] += number
    assert got.stdout == "".join(f"{key}\t{value}\n" for key, value in sorted(expected.items())), got.stderr
    calls = calls_of("calls")
    assert calls.pop("30") >= 2 and set(calls.values()) == {1}


def test_an_interpreter_that_dies_takes_no_pairs_of_other_tasks_with_it():
    def pairs(number):
        with open("calls", "a") as file:
            file.write(f"{number} ")
        if number == 5 and calls_of("calls")["5"] < 3:
            os._exit(9)
        return [(number % 2, number)]
    got = weft.run(map=pairs, reduce=lambda key, values: sorted(values), source=list(range(8)), slots=1)
    assert dict(got) == {0: [0, 2, 4, 6], 1: [1, 3, 5, 7]}
    assert calls_of("calls") == {**{str(number): 1 for number in range(8)}, "5": 3}


def test_sums_of_other_tasks_that_go_with_an_interpreter_are_added_again():
    def pairs(number):
        with open("calls", "a") as file:
            file.write(f"{number} ")
        if number == 5 and calls_of("calls")["5"] < 3:
            os._exit(9)
        return [(number % 2, number)]
    assert dict(weft.run(map=pairs, fold=sum, source=list(range(8)), slots=1)) == {0: 12, 1: 16}


@pytest.mark.parametrize("size", [1000, 10_000_000])
def test_pairs_of_attempts_that_failed_are_not_counted(size):
    def pairs(number):
        yield number % 2, number
        yield "large", "x" * size
        if number == 3:
            raise ValueError
    got = weft.run(map=pairs, reduce=lambda key, values: len(values), source=list(range(6)), slots=1, max_attempts=2,
                   skip_bad=1)
    assert dict(got) == {0: 3, 1: 2, "large": 5}


def test_nothing_stays_behind(folder, monkeypatch):
    (folder / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    import tempfile
    monkeypatch.setattr(tempfile, "tempdir", None)
    list(weft.run(map=words_of, fold=sum, inputs="text"))
    with pytest.raises(weft.TaskError):
        weft.run(map=lambda line: None, inputs="text", max_attempts=1)
    assert os.listdir(folder / "tmp") == []


# ---- octo.py

GUIDE = """\
    source = {"book%d" % number: "The cat\\nand the dog %d" % number for number in range(3)}

    def mapfn(key, value):
        for line in value.splitlines():
            for word in line.split():
                yield word.lower(), 1

    def reducefn(key, value):
        return key, len(value)

    def final(key, value):
        print key, value
    """


def octo(name, *words, code=0):
    ran = subprocess.run(["weft", "run", *words, name], capture_output=True, text=True, timeout=60,
                         env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.returncode == code, ran.stderr
    return ran.stdout, ran.stderr


def test_the_script_of_octo_with_its_print_statement():
    said, warned = octo(script("guide.py", GUIDE))
    assert said == ("0 ('0', 1)\n1 ('1', 1)\n2 ('2', 1)\nand ('and', 3)\ncat ('cat', 3)\ndog ('dog', 3)\n"
                    "the ('the', 6)\n")
    assert "guide.py is of Python 2" in warned


def test_without_final_results_are_printed_and_with_output_written(folder):
    name = script("sums.py", """\
        source = dict(zip(range(5), range(5)))
        def mapfn(key, value):
            for number in range(value + 1):
                yield key, number
        reducefn = lambda key, values: sum(values)
        """)
    assert octo(name)[0] == "0\t0\n1\t1\n2\t3\n3\t6\n4\t10\n"
    octo(name, "-o", "out")
    assert (folder / "out").read_text() == "0\t0\n1\t1\n2\t3\n3\t6\n4\t10\n"


def kept_results():
    place = os.path.join(os.environ["XDG_CACHE_HOME"], "weft", "final")
    return [name for name in os.listdir(place) if name.startswith("final.py-")]


FINAL = """\
    source = [1, 2]
    class Value:
        def __init__(self, number): self.number = number
    def mapfn(value):
        open("calls", "a").write("x")
        yield value, Value(value)
    def reducefn(key, values): return values[0]
    def final(key, value): print(key, value.number, 1 // (key - LIMIT))
    """


def test_a_final_that_raises_ends_with_1_and_can_be_called_alone(folder):
    name = script("final.py", FINAL.replace("LIMIT", "2"))
    for words in [], ["--final"]:
        said, warned = octo(name, *words, code=1)
        assert said == "1 1 -1\n" and "final raised ZeroDivisionError" in warned and "at the key 2" in warned
        assert 'File "final.py", line 8' in warned and "try: weft run --final final.py" in warned
    script("final.py", FINAL.replace("LIMIT", "3"))
    assert octo(name, "--final") == ("1 1 -1\n2 2 -1\n", "")
    assert (folder / "calls").read_text() == "xx" and kept_results() == []
    assert "no results are kept" in octo(name, "--final", code=4)[1]


def test_results_are_kept_when_final_is_killed_and_replaced_by_the_next_job():
    name = script("final.py", FINAL.replace("print(", "__import__('os').kill(__import__('os').getpid(), 9); print("))
    octo(name, code=-9)
    octo(name, code=-9)
    assert len(kept_results()) == 1
    script("final.py", FINAL.replace("LIMIT", "3"))
    assert octo(name)[0] == "1 1 -1\n2 2 -1\n"
    assert kept_results() == []


def test_wrong_uses_of_final_alone():
    name = script("none.py", "def mapfn(line): yield line, 1\n")
    assert "it has no final" in octo(name, "--final", code=1)[1]
    script("none.py", "def mapfn(line): yield line, 1\ndef final(key, value): pass\n")
    assert "nothing to do with --slots=3" in octo(name, "--final", "--slots", "3", code=1)[1]


def test_final_runs_in_order_once_per_key_in_this_process(folder):
    name = script("order.py", """\
        import os
        source = {n: n for n in (10, 9, 2, "b", "a", None, (1,))}
        log = open("log-%d" % os.getpid(), "a")
        def mapfn(key, value): yield key, value
        def reducefn(key, values): return values[0]
        def final(key, value): log.write(repr((key, value)))
        """)
    octo(name, "--slots", "2")
    written = [path.read_text() for path in folder.glob("log-*") if path.read_text()]
    assert written == ["('a', 'a')('b', 'b')(None, None)(2, 2)(9, 9)(10, 10)((1,), (1,))"]
