"""Keys and values that are pickled: equal keys are one key, and classes are the same on both sides, wherever they were defined."""
import collections
import os
import subprocess
import sys
import textwrap
import threading

import pytest
import weft
from weft import _slot

KEYS = """\
    import collections, dataclasses, enum, sys, weft
    Point = collections.namedtuple("Point", "x y")
    @dataclasses.dataclass(frozen=True)
    class Word:
        text: str
        stem: str
    class Colour(enum.Enum):
        RED = 1
    def texts(number):
        first, second = "k" + str(number % 2), "k" + str(number % 2)
        return (first, first) if number > 3 else (first, second)
    def keys(number):
        words = texts(number)
        yield Point(*words)
        yield Word(*words)
        yield [Word(*words), words]
        yield frozenset("abcdef" if number % 2 else "fedcba")
        yield "sets", frozenset([frozenset("abc"), frozenset("cde"), words])
        yield Colour.RED, words
    if __name__ == "__main__":
        for slots in 1, 2:
            result = weft.run(map=keys, fold=weft.count, source=list(range(8)), slots=slots)
            print(sorted(repr((type(key).__name__, count)) for key, count in result))
    """
EXPECTED = sorted(["('Point', 4)"] * 2 + ["('Word', 4)"] * 2 + ["('list', 4)"] * 2 + ["('frozenset', 8)"] + ["('tuple', 4)"] * 4)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b a\nc a\n")
    return tmp_path


def python(*words, text=None):
    ran = subprocess.run([sys.executable, *words], input=text, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


# ---- Keys

def test_equal_objects_are_one_key_whatever_slot_made_them():
    """Neither the identity of their parts nor the order of sets, which depends on the process, is seen."""
    one, other = python(script("keys.py", KEYS)).splitlines()
    assert one == other == repr(EXPECTED)


def test_pickles_of_keys_are_the_same_for_equal_objects():
    text, same = "ab", "".join(["a", "b"])
    assert text is not same
    for one, other in ([text, text], [text, same]), (([text], {text: text}), ([same], {text: same})):
        assert _slot.encode(one) == _slot.encode(other)
    draws = [frozenset(f"w{number}" for number in order) for order in (range(99), range(98, -1, -1))]
    assert _slot.encode(draws[0]) == _slot.encode(draws[1])
    assert _slot.encode({1: set(draws[0])}) == _slot.encode({1: set(draws[1])})
    for key in [*draws, {"\x91"}, ["\x8f"], collections.Counter("aab"), (1, {2.5: frozenset([(3, "x")])})]:
        assert _slot.decode(_slot.encode(key)) == key


def test_a_key_that_contains_itself():
    key = [1]
    key.append(key)
    again = _slot.decode(_slot.encode(key))
    assert again[0] == 1 and again[1] is again


# ---- Classes

CLASSES = """\
    import collections, dataclasses, enum, weft
    @dataclasses.dataclass(frozen=True)
    class Word:
        text: str
    class Colour(enum.Enum):
        RED = 1
    class Oops(Exception):
        pass
    Point = collections.namedtuple("Point", "x y")
    def words(line): return [(Word(word), [Word(word)]) for word in line.split()]
    def kinds(key, values): return isinstance(key, Word), isinstance(values[0][0], Word), Colour.RED, Point(values[0][0], 2)
    def texts(word): return [(word.text, word)]
    def fails(line): raise Oops(line)
    def check():
        for map, reduce in (words, kinds), (lambda line: words(line), lambda key, values: kinds(key, values)):
            for key, value in weft.run(map=map, reduce=reduce, inputs="text"):
                assert isinstance(key, Word) and value == (True, True, Colour.RED, Point(key, 2)), (key, value)
        for map in texts, lambda word: texts(word), lambda word: [(word.text, word)]:
            assert list(weft.run(map=map, reduce=lambda key, values: values[0], source=[Word("x")])) == [("x", Word("x"))]
        stage = weft.run(map=words, reduce=kinds, inputs="text")
        assert dict(weft.run(map=lambda key, value: [(key, isinstance(key, Word))], fold=max, inputs=stage))[Word("c")] is True
        try:
            weft.run(map=fails, inputs="text", max_attempts=1)
        except weft.TaskError as error:
            assert isinstance(error.__cause__, Oops) and error.__cause__.args == ("a b a",)
        print("checked")
    """


@pytest.mark.parametrize("start", ["a file", "-c", "standard input"])
def test_classes_of_the_main_module_are_the_same_on_both_sides(start):
    pytest.importorskip("cloudpickle")
    text = textwrap.dedent(CLASSES)
    if start == "a file":
        said = python(script("main.py", text + "if __name__ == '__main__':\n    check()\n"))
    elif start == "-c":
        said = python("-c", text + "check()\n")
    else:
        said = python("-", text=text + "check()\n")
    assert said == "checked\n"


def test_a_class_that_slots_do_not_define_goes_by_value():
    pytest.importorskip("cloudpickle")
    assert python(script("main.py", """\
        import weft
        if __name__ == "__main__":
            class Word(str): pass
            class Outer:
                def make(self, text): return Word(text)
            got = weft.run(map=lambda line: [(line, Outer().make(line))], reduce=lambda key, values: values[0], inputs="text")
            print([type(value) is Word for _, value in got])
        """)) == "[True, True]\n"


@pytest.mark.parametrize("start", [["weft", "run", "-q"], [sys.executable, "-c", "import sys; sys.argv.pop(0); import weft.code as code; "
                                                            "code.is_local = True; exec(open(sys.argv[0]).read())"]])
def test_classes_of_a_script_of_mincemeat(start):
    """The script is not imported again in slots: it would run its server there."""
    pytest.importorskip("cloudpickle")
    name = script("humpty.py", """\
        import mincemeat
        open("imports", "a").write("x")
        class Word:
            def __init__(self, text): self.text = text
        def mapfn(k, v): return [(v.text, v)]
        def reducefn(k, vs): return vs[0]
        s = mincemeat.Server()
        s.datasource, s.mapfn, s.reducefn = {1: Word("a"), 2: Word("b")}, mapfn, reducefn
        print(sorted((key, isinstance(value, Word)) for key, value in s.run_server().items()))
        """)
    ran = subprocess.run([*start, name], capture_output=True, text=True, timeout=60, env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert (ran.returncode, ran.stdout) == (0, "[('a', True), ('b', True)]\n"), ran.stderr
    assert open("imports").read() == "x"


def test_what_cannot_be_pickled_is_still_named():
    with pytest.raises(TypeError, match="lock object at .* cannot be a key or value: .*lock"):
        _slot.encode([1, threading.Lock()])
    with pytest.raises(weft.TaskError, match="cannot be a key or value"):
        weft.run(map=lambda line: [(1, (part for part in line))], reduce=lambda key, values: 1, inputs="text", max_attempts=1)
