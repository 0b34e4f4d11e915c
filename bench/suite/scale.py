"""How cost grows: with the size of the input, the number and length of keys, slots and memory."""
import os

from . import data, place
from .groups import probe_row, weft_row
from .measure import Group

ROUNDS = int(os.environ.get("WEFT_BENCH_SCALE_ROUNDS", "3"))
KEY_COUNTS = [10, 1_000, 100_000, 1_000_000, 10_000_000, 100_000_000]
KEY_LENGTHS = [4, 8, 9, 16, 32, 64, 128, 256]
BUDGETS = ["16M", "32M", "64M", "256M", "1G", "4G"]
SLOTS = [1, 2, 4]


def cells(label, column, source, *options, job="wordcount", probe=None):
    """The row of weft for one cell, and one for the probe beside it where there is one."""
    form = "bytes" if job == "sort" else "pairs"
    answer = f"{job} {source.name}"
    rows = [weft_row(f"{column}, {label}", [job], source, *options, form=form,
                     answer=answer, cell=(label, column))]
    if probe:
        row = probe_row(f"{probe}, {label}", probe, "-t", "2", source, form=form, source=source,
                        answer=answer)
        row.cell = (label, f"probe {probe}")
        rows.append(row)
    return rows


def table(name, title, axis, columns, rows, note=""):
    return Group(f"scale-{name}", title, None, rows, "", rounds=ROUNDS, note=note,
                 counts_words=True, axes=(axis, columns))


def size_label(mb):
    return f"{mb // 1024} GiB" if mb % 1024 == 0 else f"{mb} MiB"


def sizes():
    rows, mb = [], 1
    while mb <= 8 * place.MB:
        try:
            rows += cells(size_label(mb), "weft wordcount", data.zipf(mb), probe="wcfast")
        except place.Absent as absent:
            place.say(f"scale: {size_label(mb)} left out: {absent}")
        mb *= 8 if mb * 8 <= place.MB else 2 if mb < place.MB else 8
    return table("size", "Size of the input (Zipf text)", "input",
                 ["weft wordcount", "probe wcfast"], rows)


def key_counts():
    rows = []
    for count in KEY_COUNTS:
        rows += cells(f"{count:,}", "weft wordcount", data.keys(place.MB, count, 9))
    return table("keys", f"Different keys ({place.MB} MiB of 9-byte words drawn evenly)",
                 "keys to draw from", ["weft wordcount"], rows)


def key_lengths():
    rows = []
    for length in KEY_LENGTHS:
        rows += cells(f"{length}", "weft wordcount", data.keys(place.MB, 1_000_000, length))
    return table("length", f"Length of the keys ({place.MB} MiB, a million different ones)",
                 "bytes per key", ["weft wordcount"], rows)


def three_jobs():
    """(column, job, input): few keys, many keys, sorting."""
    return [("wordcount, Zipf", "wordcount", data.zipf(place.MB)),
            ("wordcount, mostly distinct", "wordcount", data.card(place.MB)),
            ("sort", "sort", data.tera(place.MB))]


def by_option(name, title, axis, option, values):
    rows = []
    for column, job, source in three_jobs():
        for value in values:
            rows += cells(str(value), column, source, option, str(value), job=job)
    return table(name, title, axis, [column for column, _, _ in three_jobs()], rows,
                 note="All outputs of a column must be the same, which is checked.")


def slots():
    return by_option("slots", f"Slots ({place.MB} MiB, {place.CORES} cores)", "-n", "-n", SLOTS)


def budgets():
    return by_option("memory", f"Memory budget ({place.MB} MiB)", "--memory", "--memory", BUDGETS)


TABLES = [sizes, key_counts, key_lengths, slots, budgets]
