"""Turns results into Markdown: a table of rows, a table of targets, a table of scaling."""
import datetime
import json
import os
import platform
import re
from pathlib import Path

from . import peers, place

MB = 1_000_000


def number(value):
    """Three digits that matter."""
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def seconds(value, unit):
    if unit == "ms":
        return number(value * 1000)
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


# ---- Targets: each is a function of the results that returns (target, measured, verdict) ----

def verdict(is_reached, excess):
    return "reached" if is_reached else f"**missed by {excess:.0%}**"


def faster(row, peer, times, text, shows_cpu=False):
    """`row` must be at least `times` as fast as `peer`. The ratio of their CPU times says what a busy machine hides."""
    def judge(by_name):
        ratio = by_name[peer].wall() / by_name[row].wall()
        by_cpu = f", {number(by_name[peer].cpu() / by_name[row].cpu())} times less CPU" if shows_cpu else ""
        return text, f"{number(ratio)} times{by_cpu}", verdict(ratio >= times, times / ratio - 1)
    return (row, peer), judge, text


def within(row, peer, times, text):
    """`row` may take at most `times` as long as `peer`."""
    def judge(by_name):
        ratio = by_name[row].wall() / by_name[peer].wall()
        return text, f"{number(ratio)} times", verdict(ratio <= times, ratio / times - 1)
    return (row, peer), judge, text


def memory(row, mib, text):
    def judge(by_name):
        used = by_name[row].memory_mib()
        return text, f"{used:.0f} MiB", verdict(used <= mib, used / mib - 1)
    return (row,), judge, text


def under(row, milliseconds, text):
    """`row` may take at most so long."""
    def judge(by_name):
        took = by_name[row].wall() * 1000
        return text, f"{number(took)} ms", verdict(took <= milliseconds, took / milliseconds - 1)
    return (row,), judge, text


def extra(row, peer, milliseconds, text):
    """`row` may take at most so much longer than `peer`."""
    def judge(by_name):
        more = (by_name[row].wall() - by_name[peer].wall()) * 1000
        return text, f"{number(max(more, 0))} ms", verdict(more < milliseconds,
                                                          more / milliseconds - 1)
    return (row, peer), judge, text


def target_lines(group, results):
    by_name = {result.row.name: result for result in results if result.is_measured()}
    lines = ["", "| target | measured | |", "|---|---|---|"]
    for needs, judge, text in group.targets:
        missing = [name for name in needs if name not in by_name]
        cells = (text, "not measured", f"no {missing[0]}") if missing else judge(by_name)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return lines if group.targets else []


# ---- Tables ----

def source_bytes(group, row):
    source = row.source or group.source
    return os.path.getsize(source) if source and not Path(source).is_dir() else 0


def row_line(group, result, base):
    if not result.is_measured():
        why = f"**{result.failure}**" if result.failure else f"absent: {result.absent}"
        return f"| {result.row.name} | {why} | | | | | | |"
    unit = "ms" if result.wall() < 0.1 else "s"
    walls, size = result.walls(), source_bytes(group, result.row)
    spread = f"{seconds(result.wall(), unit)} [{seconds(min(walls), unit)}.." \
             f"{seconds(max(walls), unit)}] {unit}"
    ratio = f"{number(result.wall() / base)}" if base else "-"
    cells = [result.row.name.replace("|", "\\|"), number(size / MB / result.wall()) if size else "-", spread,
             str(len(walls)), ratio, seconds(result.cpu(), unit) + f" {unit}",
             f"{result.memory_mib():.0f}" if result.wall() > 0.02 else "-",
             f"{result.foreign():.0%}" if result.wall() > 0.1 else "-"]
    return "| " + " | ".join(cells) + " |"


def row_table(group, results):
    base = next((r.wall() for r in results if r.row.name == group.base and r.is_measured()), None)
    lines = ["| what | MB/s | wall, median [min..max] | n | time / weft | CPU | memory MiB |"
             " others |", "|---|---|---|---|---|---|---|---|"]
    return lines + [row_line(group, result, base) for result in results]


def scale_cell(group, result):
    if not result.is_measured():
        return "**failed**" if result.failure else "-"
    unit = "ms" if result.wall() < 0.1 else "s"
    size = source_bytes(group, result.row)
    return f"{seconds(result.wall(), unit)} {unit}, {number(size / MB / result.wall())} MB/s, " \
           f"{result.memory_mib():.0f} MiB"


def scale_table(group, results):
    """A line per input, a column per way; each cell has time, speed and memory."""
    axis, columns = group.axes
    cells = {result.row.cell: scale_cell(group, result) for result in results}
    lines = [f"| {axis} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for label in dict.fromkeys(result.row.cell[0] for result in results):
        line = [cells.get((label, column), "-") for column in columns]
        lines.append(f"| {label} | " + " | ".join(line) + " |")
    return lines + ["", f"Medians of {group.rounds} rounds: time, input per second, memory."]


def group_text(group, results):
    lines = [f"### {group.title}", ""]
    if group.note:
        lines += [group.note, ""]
    lines += scale_table(group, results) if group.axes else row_table(group, results)
    return "\n".join(lines + target_lines(group, results)) + "\n"


def save_group(group, results):
    """Prints the table and leaves it in bench/results/, with every single run as JSON."""
    text = group_text(group, results)
    print(text, flush=True)
    (place.RESULTS / f"{group.name}.md").write_text(text)
    runs = {r.row.name: {"runs": r.costs, "answer": r.answer, "failure": r.failure,
                         "absent": r.absent} for r in results}
    (place.RESULTS / f"{group.name}.json").write_text(json.dumps(runs, indent=1) + "\n")


# ---- The machine ----

def processor():
    found = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else platform.processor() or "unknown"


def memory_gib():
    found = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    return int(found.group(1)) / 1048576


def system_name():
    found = re.search(r'PRETTY_NAME="(.*)"', Path("/etc/os-release").read_text())
    return found.group(1) if found else "Linux"


def machine_text():
    try:
        duckdb = peers.duckdb_version()
    except place.Absent:
        duckdb = "absent"
    lines = [
        f"- {processor()}, {place.CORES} cores, {memory_gib():.0f} GiB, best instructions "
        f"{peers.isa_choices()[0]}; {system_name()}, kernel {platform.release()}; data and "
        f"outputs on {place.file_system_of(place.CACHE.resolve())}",
        f"- {place.first_line(place.WEFT, 'version')} at {revision()}; DuckDB {duckdb}; "
        f"{place.first_line('sort', '--version')}; {place.first_line('grep', '--version')}; "
        f"{place.first_line('gcc', '--version')}",
        f"- {datetime.date.today().isoformat()}, inputs of {place.MB} MiB",
    ]
    return "\n".join(lines) + "\n"


def revision():
    return place.first_line("git", "-C", str(place.ROOT), "describe", "--always", "--dirty")


def save_machine():
    text = machine_text()
    print(text, flush=True)
    (place.RESULTS / "machine.md").write_text(text)


def publish():
    """Puts the last results between the marks `<!-- NAME -->` and `<!-- end -->` of the docs."""
    page = place.ROOT / "docs" / "benchmarks.md"

    def replace(match):
        table = place.RESULTS / f"{match.group(1)}.md"
        body = table.read_text().strip() + "\n" if table.exists() else match.group(2)
        return f"<!-- {match.group(1)} -->\n{body}<!-- end -->"

    page.write_text(re.sub(r"<!-- (\S+) -->\n(.*?)<!-- end -->", replace, page.read_text(),
                           flags=re.DOTALL))
    place.say(f"wrote {page.relative_to(place.ROOT)}")
