"""Jobs in Python, against collections.Counter in one process and multiprocessing.Pool(2): the whole process, sorted
output included, with many different words and with few."""
from . import data, peers, place
from .measure import Group, Row
from .report import faster

MB = max(1, place.MB // 8)
JOBS = place.BENCH / "jobs"
PYTHON = "/usr/bin/python3"
COUNTER, POOL = "collections.Counter by lines", "multiprocessing.Pool(2), a Counter each"
YIELD, KEYS = "mapfn yields word, 1", "mapfn returns the words"
BLOCK, BLOCK_COUNTER = "of a block of lines: the words", "of a block of lines: a Counter"


def script_row(name, script, source):
    return Row(name, lambda out: [peers.weft(), "run", "-q", "--tmp", place.TEMP, JOBS / script, "-o", out, source],
               to_stdout=False, is_ours=True, env={"WEFT_PYTHON": PYTHON})


def baseline_row(name, script, source):
    return Row(name, lambda out: [PYTHON, JOBS / script, source, out], to_stdout=False, rounds=3)


def group(name, title, source, targets):
    rows = [script_row(YIELD, "py_yield.py", source), script_row(KEYS, "py_keys.py", source),
            script_row(BLOCK, "py_block.py", source), script_row(BLOCK_COUNTER, "py_block_counter.py", source),
            baseline_row(COUNTER, "py_counter.py", source), baseline_row(POOL, "py_pool.py", source)]
    return Group(name, title, source, rows, YIELD, targets)


def many():
    targets = [faster(YIELD, COUNTER, 5, "a generator by line at least 5 times as fast as Counter"),
               faster(YIELD, POOL, 3, "and 3 times as fast as Pool(2)"),
               faster(KEYS, COUNTER, 9, "keys alone at least 9 times as fast as Counter"),
               faster(BLOCK_COUNTER, COUNTER, 4.5, "a Counter for each block at least 4.5 times as fast")]
    return group("python-many", f"Word count in Python, {MB} MiB with 1,200,000 words", data.zipf_of(MB, 1_200_000, 1.0),
                 targets)


def few():
    targets = [faster(YIELD, COUNTER, 2.8, "a generator by line at least 2.8 times as fast as Counter"),
               faster(YIELD, POOL, 1.2, "and 1.2 times as fast as Pool(2)")]
    return group("python-few", f"Word count in Python, {MB} MiB with 50,000 words", data.zipf_of(MB, 50_000, 1.0), targets)
