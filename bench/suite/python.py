"""Jobs in Python: the whole process, sorted output included.

Against collections.Counter in one process and multiprocessing.Pool(2), with many different words and with few; without a fold against
the original mincemeat.py; and what starting costs.
"""
from . import data, peers, place
from .measure import Group, Row
from .report import faster, under

MB = max(1, place.MB // 8)
MINCEMEAT_MB = max(1, place.MB // 64)
START_ROUNDS = 4 * place.ROUNDS
FEW_WORDS = 5200  # with capitals and punctuation some 50,000 different ones
JOBS = place.BENCH / "jobs"
PYTHON = "/usr/bin/python3"
COUNTER, POOL = "collections.Counter by lines", "multiprocessing.Pool(2), a Counter each"
YIELD, KEYS = "mapfn yields word, 1", "mapfn returns the words"
BLOCK, BLOCK_COUNTER = "of a block of lines: the words", "of a block of lines: a Counter"
REDUCE, MINCEMEAT = "without fold: reducefn gets lists", "the original mincemeat.py, two clients"
ONE_WORD, NOTHING = "weft run py_yield.py, one word", "python3 -c pass"


def script_row(name, script, source):
    return Row(name, lambda out: [peers.weft(), "run", "-q", "--tmp", place.TEMP, JOBS / script, "-o", out, source],
               to_stdout=False, is_ours=True, env={"WEFT_PYTHON": PYTHON})


def baseline_row(name, script, source):
    return Row(name, lambda out: [PYTHON, JOBS / script, source, out], to_stdout=False, rounds=3)


def group(name, words, source, targets):
    rows = [script_row(YIELD, "py_yield.py", source), script_row(KEYS, "py_keys.py", source),
            script_row(BLOCK, "py_block.py", source), script_row(BLOCK_COUNTER, "py_block_counter.py", source),
            baseline_row(COUNTER, "py_counter.py", source), baseline_row(POOL, "py_pool.py", source)]
    return Group(name, f"Word count in Python, {MB} MiB with {words} different words", source, rows, YIELD, targets)


def many():
    targets = [faster(YIELD, COUNTER, 5, "a generator by line at least 5 times as fast as Counter", shows_cpu=True),
               faster(YIELD, POOL, 3, "and 3 times as fast as Pool(2)", shows_cpu=True),
               faster(KEYS, COUNTER, 9, "keys alone at least 9 times as fast as Counter", shows_cpu=True),
               faster(BLOCK_COUNTER, COUNTER, 4.5, "a Counter for each block at least 4.5 times as fast", shows_cpu=True)]
    return group("python-many", "1.2 million", data.zipf(MB), targets)


def few():
    targets = [faster(YIELD, COUNTER, 2.8, "a generator by line at least 2.8 times as fast as Counter", shows_cpu=True),
               faster(YIELD, POOL, 1.2, "and 1.2 times as fast as Pool(2)", shows_cpu=True)]
    return group("python-few", "50,000", data.zipf_of(MB, FEW_WORDS, 1.05), targets)


def mincemeat():
    source = data.zipf(MINCEMEAT_MB)
    original = Row(MINCEMEAT, lambda out: [peers.python2(), JOBS / "py2_mincemeat.py", source, out], to_stdout=False, rounds=1,
                   env={"PYTHONPATH": str(peers.mincemeat_folder())})
    targets = [faster(REDUCE, MINCEMEAT, 20, "without fold at least 20 times as fast as mincemeat.py", shows_cpu=True)]
    return Group("python-mincemeat", f"Word count in Python without a fold, {MINCEMEAT_MB} MiB", source,
                 [script_row(REDUCE, "py_reduce.py", source), original], REDUCE, targets)


def start():
    source = data.one_word()
    rows = [script_row(ONE_WORD, "py_yield.py", source), Row(NOTHING, lambda out: [PYTHON, "-c", "pass"], form=None)]
    targets = [under(ONE_WORD, 150, "a job of one word, with its interpreters, at most 150 ms")]
    return Group("python-start", "Starting a job in Python", None, rows, ONE_WORD, targets, rounds=START_ROUNDS)
