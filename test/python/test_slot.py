"""A slot's process fed by hand: every kind of frame, damaged ones too. With WEFT_LONG also with the sanitizers of gcc."""
import json
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import pytest
import weft
from conftest import is_sanitized
from weft import _slot

PACKAGE = pathlib.Path(weft.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = """\
def mapfn(line):
    if line == "raise": raise ValueError(line)
    for word in line.split():
        yield word, 1
def keys(line): return line.split()
def large(line): yield line, 2**61
class Fickle:
    def __init__(self, words): self.words = words
    def __reduce__(self):
        self.words.clear()
        return (str, ("emptied",))
def fickle_keys(line):
    words = line.split()
    words.insert(1, Fickle(words))
    return words
def fickle_pairs(line):
    pairs = [(word, 1) for word in line.split()]
    pairs.insert(1, (Fickle(pairs), 1))
    return pairs
fold = max
def reducefn(key, values): yield key, len(values)
"""


def frame(kind, payload=b""):
    return struct.pack("<I", len(payload)) + kind.encode() + payload


def begin(phase=0, output=0, holds=0):
    return frame("B", bytes([phase, output, holds]))


def records(text, cut=0):
    return frame("D", struct.pack("<QBB", 7, cut, 10) + text)


def build_sanitized(folder):
    """The package with the slot's module built for the sanitizers, and what a process needs to load it."""
    (folder / "weft").mkdir()
    for file in [*PACKAGE.glob("*.py"), *PACKAGE.glob("_weft*.so")]:
        shutil.copy(file, folder / "weft")
    include = subprocess.run([sys.executable, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
                             capture_output=True, text=True, check=True).stdout.strip()
    subprocess.run(["gcc", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fPIC", "-shared",
                    "-std=gnu17", "-D_GNU_SOURCE", "-DPy_LIMITED_API=0x030B0000", "-isystem", include, "-o",
                    folder / "weft" / "_slot.abi3.so", *(ROOT / "python" / "src" / "slot").glob("*.c"), "-lm"], check=True)
    libraries = [subprocess.run(["gcc", f"-print-file-name={name}.so"], capture_output=True, text=True,
                                check=True).stdout.strip() for name in ("libasan", "libubsan")]
    return folder, {"LD_PRELOAD": " ".join(libraries), "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}


@pytest.fixture(scope="module", params=["plain", "sanitized"])
def place(request, tmp_path_factory):
    if request.param == "plain":
        return PACKAGE.parent, {}
    if not os.environ.get("WEFT_LONG"):
        pytest.skip("WEFT_LONG=1 runs it with the sanitizers")
    if is_sanitized:
        pytest.skip("it is sanitized")
    return build_sanitized(tmp_path_factory.mktemp("sanitized"))


def run(place, folder, kind, *frames, map="mapfn"):
    """The frames that come back, as (kind, payload)."""
    (folder / "job.py").write_text(SCRIPT)
    job = {"kind": kind, "main": {"path": str(folder / "job.py"), "name": "job"}, "path": sys.path, "argv": ["x"],
           "map": {"main": map}, "reduce": {"main": "reducefn"}, "wants_name": False, "passes_emit": False,
           "fold": {"main": "fold"} if kind == "fold" else {"module": "builtins", "name": "sum"}, "is_bytes": False}
    package, more = place
    boot = "import sys; sys.path[0] = sys.argv[1]; from weft.slot import main; main()"
    ran = subprocess.run([sys.executable, "-S", "-c", boot, str(package)], capture_output=True, timeout=60,
                         input=frame("J", json.dumps(job).encode()) + b"".join(frames), env={**os.environ, **more})
    assert ran.returncode == 0, ran.stderr.decode()
    came, at = [], 0
    while at < len(ran.stdout):
        size, = struct.unpack_from("<I", ran.stdout, at)
        came.append((chr(ran.stdout[at + 4]), ran.stdout[at + 5:at + 5 + size]))
        at += 5 + size
    return came


def sums_of(came, kinds="NK"):
    sums = {}
    for kind, payload in came:
        at = 0
        while kind in kinds and at < len(payload):
            size, number = struct.unpack_from("<Iq", payload, at)
            key = payload[at + 12:at + 12 + size]
            sums[key] = sums.get(key, 0) + number
            at += 12 + size
    return sums


def draw_text(lines):
    draw = random.Random(1)
    words = ["".join(draw.choice("abcdé\0xyz") for _ in range(draw.randrange(1, 30))) for _ in range(3000)]
    return "".join(" ".join(draw.choice(words) for _ in range(8)) + "\n" for _ in range(lines)).encode()


def expected_of(text):
    sums = {}
    for word in text.decode().split():
        sums[word.encode()] = sums.get(word.encode(), 0) + 1
    return sums


@pytest.mark.parametrize("kind, map", [("sum", "mapfn"), ("count", "keys")])
@pytest.mark.parametrize("holds", [1, 2])
@pytest.mark.parametrize("memory", [2 << 20, 64 << 20])
def test_sums_are_held_until_they_are_asked_for_and_flushed_when_there_is_no_room(place, tmp_path, kind, map, holds, memory):
    text = draw_text(4000)
    came = run(place, tmp_path, kind, frame("M", struct.pack("<Q", memory)), begin(holds=holds), frame("I", b"name"),
               records(text), frame("E"), begin(holds=holds), records(text), frame("E"), frame("S"), map=map)
    kinds = "".join(kind for kind, _ in came)
    assert kinds.count("E") == 2 and kinds.endswith("S") and (memory == 2 << 20 or kinds[:2] == "EE")
    assert sums_of(came) == {key: 2 * value for key, value in expected_of(text).items()}


def test_what_is_held_survives_an_attempt_that_fails(place, tmp_path):
    text, other = draw_text(2000), b"".join(b"%d w\xc3\xa9%030d\n" % (number, number) for number in range(20000))
    came = run(place, tmp_path, "sum", begin(holds=2), records(text), frame("E"), begin(holds=2), records(other), frame("E"),
               begin(holds=2), records(b"a b c\n" * 100 + b"raise\na\n"), frame("S"))
    assert [kind for kind, _ in came if kind not in "K"] == ["E", "E", "F", "S"]
    assert sums_of(came, "K") == {**expected_of(text), **expected_of(other)}


def test_large_sums_that_are_held_are_exact(place, tmp_path):
    came = run(place, tmp_path, "sum", *[one for _ in range(3) for one in (begin(holds=2), records(b"x\nx\n"), frame("E"))],
               frame("S"), map="large")
    assert [kind for kind, _ in came] == ["E", "E", "E", "Q", "S"]
    total, at, payload = 0, 0, came[3][1]
    while at < len(payload):
        key, value = struct.unpack_from("<II", payload, at)
        total += _slot.decode(payload[at + 8 + key:at + 8 + key + value])
        at += 8 + key + value
    assert total == 6 * 2**61


@pytest.mark.parametrize("kind, map", [("count", "fickle_keys"), ("sum", "fickle_pairs")])
def test_a_list_that_changes_while_it_is_read_ends_early(place, tmp_path, kind, map):
    came = run(place, tmp_path, kind, begin(), records(b"a b c\n"), records(b"d e f\n"), frame("E"), map=map)
    sums = sums_of(came)
    assert {key: sums[key] for key in sums if key in b"abcdef"} == {b"a": 1, b"d": 1} and came[-1] == ("E", b"")


def test_a_search_for_a_bad_record_leaves_held_sums_alone(place, tmp_path):
    came = run(place, tmp_path, "sum", begin(holds=1), records(b"a b\n"), frame("E"), begin(output=3), records(b"a c\n"),
               frame("E"), frame("S"))
    assert sums_of(came) == {b"a": 1, b"b": 1}


@pytest.mark.parametrize("kind, first", [("fold", "P"), ("reduce", "P"), ("map", "T")])
def test_other_kinds_send_pairs(place, tmp_path, kind, first):
    came = run(place, tmp_path, kind, begin(output=1 if kind == "map" else 0), records(draw_text(2000)), frame("E"))
    assert {kind for kind, _ in came} == {first, "E"} and came[-1] == ("E", b"")


def test_chunks_and_framed_records(place, tmp_path):
    framed = b"".join(struct.pack("<QI", number, 1) + b"x" for number in range(5))
    assert sums_of(run(place, tmp_path, "sum", begin(), records(draw_text(3000), cut=2), frame("E"))) == expected_of(
        draw_text(3000))
    assert sums_of(run(place, tmp_path, "sum", begin(), records(framed, cut=3), frame("E"))) == {b"x": 5}


def test_a_failure_has_its_offset_and_the_rest_is_passed_over(place, tmp_path):
    came = run(place, tmp_path, "sum", begin(), frame("I", b"in.txt"), records(b"a\nraise\nb\n"), records(b"c\n"), frame("E"))
    assert [kind for kind, _ in came] == ["F", "E"]
    assert came[0][1][:8] == struct.pack("<Q", 9) and b"at the record 'raise', byte 9 of in.txt" in came[0][1]


GROUP = b"k" + struct.pack("<I", 1) + b"a" + (b"v" + struct.pack("<I", 3) + b"abc") * 3 + b"i" + struct.pack("<q", 5) + b"e"


@pytest.mark.parametrize("output, kind, value", [(1, "T", b"4"), (2, "W", b"\xfa\x81\x04")])
def test_groups_are_reduced(place, tmp_path, output, kind, value):
    cut = GROUP.index(b"v")  # a group may lie in several frames
    came = run(place, tmp_path, "reduce", begin(1, output), frame("R", GROUP[:cut]), frame("R", GROUP[cut:]), frame("E"))
    assert came == [(kind, struct.pack("<II", 1, len(value)) + b"a" + value), ("E", b"")]


@pytest.mark.parametrize("payload", [b"k", b"v\1\0\0\0a", b"e", b"z", GROUP[:-5], b"k\xff\xff\xff\xff", b"i\0"], ids=repr)
def test_damaged_groups_are_failures(place, tmp_path, payload):
    assert [kind for kind, _ in run(place, tmp_path, "reduce", begin(1, 1), frame("R", payload), frame("E"))] == ["F", "E"]
