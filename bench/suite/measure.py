"""Measures the rows of a group round by round, and checks that they give the same answer.

Every round runs every row once (a slow row only in the first rounds), so that what changes on the
machine during a run meets all rows alike; each round begins with another one. The rows of one
`answer` must agree.
"""
import json
import os
import statistics
import subprocess
import time
from dataclasses import dataclass, field
from typing import Callable, Optional

from . import data, place

FOREIGN_LIMIT = 0.10    # more of the machine's time used by others: measure once more
AGAIN_SECONDS_MAX = 10  # but not what takes long
TIMEOUT_SECONDS = 3600


@dataclass
class Row:
    """One way to do the work. `command` gets the path of the output and returns the arguments."""
    name: str
    command: Callable[[str], list]
    form: Optional[str] = "pairs"  # how `check` reads the output; None: there is none to check
    to_stdout: bool = True         # the output is what it prints; else it writes to the path
    is_sorted: bool = True         # ... and must be in order
    rounds: Optional[int] = None   # at most so many
    may_end_with: tuple = (0,)     # exit codes that are no failure
    has_first_run: bool = False    # run once unmeasured: its first run prepares the others
    env: dict = field(default_factory=dict)
    is_ours: bool = False          # weft's: when answers differ, the others' is taken as right
    answer: str = ""
    source: Optional[os.PathLike] = None  # its input, where the rows of a group differ in it
    cell: tuple = ()               # (row, column) in a table of scaling


@dataclass
class Group:
    name: str
    title: str
    source: Optional[os.PathLike]
    rows: list
    base: str                      # the row that the others are compared with
    targets: list = field(default_factory=list)
    rounds: int = place.ROUNDS
    note: str = ""
    counts_words: bool = False     # the sum of the counts must be the number of words
    axes: tuple = ()               # (name of the rows, columns) makes it a table of scaling


@dataclass
class Result:
    row: Row
    costs: list = field(default_factory=list)
    answer: str = ""
    failure: str = ""              # why it did not end well, or why its answer is wrong
    absent: str = ""               # why it was not run

    def is_measured(self):
        return bool(self.costs) and not self.failure

    def walls(self):
        return [cost["wall"] for cost in self.costs]

    def wall(self):
        return statistics.median(self.walls())

    def cpu(self):
        return statistics.median(cost["user"] + cost["sys"] for cost in self.costs)

    def memory_mib(self):
        return max(cost["memory"] for cost in self.costs) / 1024

    def foreign(self):
        return max(cost["foreign"] for cost in self.costs)


def seconds_busy():
    fields = [int(text) for text in open("/proc/stat").readline().split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def wait_for_quiet():
    """Waits until others use less than a tenth of the machine, but not for ever."""
    end = time.monotonic() + place.QUIET_SECONDS
    while time.monotonic() < end:
        before = seconds_busy()
        time.sleep(0.25)
        if (seconds_busy() - before) / 0.25 / (os.cpu_count() or 1) < 0.10:
            return


def run_once(row, command, out):
    """Runs a command under the meter; returns its cost and the last line of its talk."""
    out.unlink(missing_ok=True)
    talk = place.TEMP / "talk.txt"
    os.sync()  # what the last row wrote is not this one's burden
    wait_for_quiet()
    meter = [place.own_tool("meter"), "-t", str(TIMEOUT_SECONDS), "-e", talk]
    meter += ["-o", out if row.to_stdout and row.form else "/dev/null"]
    done = subprocess.run([*meter, *command], capture_output=True, text=True,
                          env={**os.environ, **row.env}, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        return None, done.stderr.strip() or f"meter ended with {done.returncode}"
    lines = talk.read_text(errors="replace").strip().splitlines()
    return json.loads(done.stdout), lines[-1] if lines else ""


def check_answer(result, out):
    """Reads the output; a second run of a row must give what the first one gave."""
    row = result.row
    done = subprocess.run([place.own_tool("check"), row.form, out], capture_output=True, text=True)
    answer, _, last = done.stdout.strip().rpartition(" ")
    if row.form == "bytes":
        answer = done.stdout.strip()
    if done.returncode != 0:
        result.failure = done.stderr.strip()
    elif row.is_sorted and last == "unsorted":
        result.failure = "its output is not sorted"
    elif result.answer and answer != result.answer:
        result.failure = f"two runs differ: {result.answer} and {answer}"
    result.answer = result.answer or answer


def measure_row(result, out):
    row = result.row
    try:
        command = [str(part) for part in row.command(str(out))]
    except place.Absent as absent:
        result.absent = str(absent)
        return
    if row.has_first_run and not result.costs:
        run_once(row, command, out)
    cost, talk = run_once(row, command, out)
    if cost and cost["foreign"] > FOREIGN_LIMIT and cost["wall"] < AGAIN_SECONDS_MAX:
        again, talk = run_once(row, command, out)
        if again and (again["status"] or again["foreign"] < cost["foreign"]):
            cost = again
    if not cost:
        result.failure = talk
    elif cost["status"] not in row.may_end_with:
        result.failure = f"exit {cost['status']}: {talk}"
    elif cost["left"]:
        result.failure = f"left {cost['left']} processes behind"
    else:
        result.costs.append(cost)
        if row.form:
            check_answer(result, out)
        place.say(f"  {row.name:44} {cost['wall']:9.3f} s  cpu {cost['user'] + cost['sys']:7.2f}"
                  f"  memory {cost['memory'] // 1024:5} MiB  others {cost['foreign']:4.0%}")
    if result.failure:
        place.say(f"  {row.name:44} FAILED: {result.failure}")
    out.unlink(missing_ok=True)


def compare_answers(group, results):
    """Marks every row whose answer is not that of the peers it must agree with."""
    by_answer = {}
    for result in results:
        if result.answer:
            by_answer.setdefault(result.row.answer, []).append(result)
    for same in by_answer.values():
        others = [result.answer for result in same if not result.row.is_ours]
        right = statistics.mode(others or [result.answer for result in same])
        for result in same:
            if result.answer != right:
                result.failure = f"WRONG ANSWER: {result.answer}, it should be {right}"
                place.say(f"{group.name}: {result.row.name}: {result.failure}")
        if group.counts_words:
            check_total(group, same)


def check_total(group, results):
    words = data.count_words(results[0].row.source or group.source)
    for result in results:
        has_total = result.row.form != "bytes" and not result.failure
        if has_total and f"total={words} " not in result.answer:
            result.failure = f"WRONG ANSWER: {result.answer}, the input has {words} words"
            place.say(f"{group.name}: {result.row.name}: {result.failure}")


def run_group(group):
    """Measures all rows; returns a Result per row."""
    results = [Result(row) for row in group.rows if place.ROW_PATTERN.search(row.name)]
    out = place.TEMP / "out"
    for round_index in range(group.rounds):
        place.say(f"{group.name}: round {round_index + 1} of {group.rounds}")
        # Memory that another process has just given back is cheaper than memory that the host took
        # meanwhile: whoever always came first would always pay for all.
        first = round_index * 2 % max(len(results), 1)
        for result in results[first:] + results[:first]:
            row = result.row
            if result.failure or result.absent or round_index >= (row.rounds or group.rounds):
                continue
            source = row.source or group.source
            if source:  # each time: what nobody reads for some seconds may leave the cache
                data.warm(source)
            out.unlink(missing_ok=True)  # or this one would pay for emptying the last one's output
            measure_row(result, out)
    compare_answers(group, results)
    return results
