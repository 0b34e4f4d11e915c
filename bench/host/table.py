"""Rows, rounds and tables: every column of a row is measured once in each round."""
import os
import re
import statistics
import subprocess

from . import machine, place

ROWS = re.compile(os.environ.get("WEFT_BENCH_ROWS", ""))


class Ratio:
    """A column of ratios: `ours` divided by `theirs`, which is to be at least or at most `wanted`."""

    def __init__(self, ours, theirs, wanted=None, at_most=False, title=None):
        self.ours, self.theirs, self.wanted, self.at_most = ours, theirs, wanted, at_most
        self.title = title or f"{ours} / {theirs}"

    def cell(self, measured):
        ours, theirs = measured.get(self.ours, {}), measured.get(self.theirs, {})
        ratios = [ours[turn] / theirs[turn] for turn in ours if theirs.get(turn)]
        if not ratios:
            return ""
        middle = statistics.median(ratios)
        text = f"{two_digits(middle)} [{two_digits(min(ratios))}..{two_digits(max(ratios))}]"
        if self.wanted is None:
            return text
        is_met = middle <= self.wanted if self.at_most else middle >= self.wanted
        return f"{text} {'reached' if is_met else '**missed**'} ({'at most' if self.at_most else 'asked'} {self.wanted:g})"


def two_digits(value):
    return f"{value:.0f}" if value >= 20 else f"{value:.1f}" if value >= 3 else f"{value:.2f}"


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.1f}"


class Table:
    """Prints itself row by row. `columns` names what is measured, `ratios` what is made of it."""

    def __init__(self, title, columns, ratios=()):
        self.columns, self.ratios, self.absent = columns, ratios, set()
        print(f"\n### {title}\n")
        heads = ["what", *columns, *(ratio.title for ratio in ratios), "others"]
        print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)

    def row(self, name, rounds, measures, ratios=None):
        """`measures`: for a column, or for several at once, a function that gives its number or their numbers."""
        if not ROWS.search(name):
            return
        measured, watch = {}, machine.Watch()
        for turn in range(rounds):
            for columns, measure in measures.items():
                numbers = self.measure_once(columns, measure, watch)
                for column, value in zip([columns] if isinstance(columns, str) else columns, numbers):
                    measured.setdefault(column, {})[turn] = value
        cells = [number(statistics.median(measured[column].values())) if column in measured else ""
                 for column in self.columns]
        cells += [ratio.cell(measured) for ratio in ratios or self.ratios]
        cells.append(f"{watch.others():.0%}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)

    def measure_once(self, columns, measure, watch):
        """Its numbers; none when it cannot be measured here or failed."""
        if columns in self.absent:
            return []
        machine.wait_for_quiet()
        try:
            with watch:
                numbers = measure()
        except place.Absent as absent:
            self.absent.add(columns)
            place.say(f"bench: {columns if isinstance(columns, str) else columns[0]} is left out: {absent}")
            return []
        except (place.Failed, OSError, ValueError, IndexError, subprocess.SubprocessError) as failure:
            place.failures.append(failure)  # of one column in one round: all others are measured
            place.say(f"bench: {columns if isinstance(columns, str) else columns[0]}: {failure or repr(failure)}")
            return []
        return [numbers] if isinstance(columns, str) else numbers
