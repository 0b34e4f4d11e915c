"""The groups: what is run in each, and what is to be reached."""
from . import data, peers, place
from .measure import Group, Row
from .report import extra, faster, memory, within

SMALL_ROUNDS = 6 * place.ROUNDS
FILE_COUNT, FILE_BYTES = 10_000, 1024


def weft_run(job, source, *options, output=None):
    """`weft run OPTIONS JOB SOURCE`, called only when the row is run: weft may not be there."""
    where = ["-o", output] if output else []
    return [peers.weft(), "run", "--tmp", place.TEMP, *options, *where, *job, source]


def weft_row(name, job, source, *options, **more):
    return Row(name, lambda out: weft_run(job, source, *options), source=source,
               is_ours=True, **more)


def weft_file_row(name, job, source, *options, **more):
    return Row(name, lambda out: weft_run(job, source, *options, output=out), to_stdout=False,
               source=source, is_ours=True, **more)


def user_job_row(name, job, source):
    return Row(name, lambda out: [peers.user_job(job), "--tmp", place.TEMP, source],
               is_ours=True)


def probe_row(name, program, *arguments, **more):
    return Row(name, lambda out: [peers.probe(program), *arguments], **more)


def sort16_row(mode, source, form):
    return Row(f"probe sort16 {mode}", lambda out: [peers.probe("sort16"), mode, source, out],
               form=form, to_stdout=False)


def duckdb_row(source, is_sorted=False):
    name = "DuckDB, sorted" if is_sorted else "DuckDB, unsorted"
    return Row(name, lambda out: peers.duckdb_count(source, out, is_sorted), to_stdout=False,
               is_sorted=is_sorted, rounds=3)


def pipeline_row(source, sort_options=""):
    name = " ".join(f"tr, sort {sort_options}, uniq -c".split()).replace(" ,", ",")
    return Row(name, lambda out: peers.tr_sort_uniq(source, sort_options), form="counts",
               env=peers.PLAIN, rounds=1)


def wordcount():
    source, job = data.zipf(place.MB), ["wordcount"]
    rows = [weft_row("weft run wordcount", job, source),
            weft_row("weft run -n 1 wordcount", job, source, "-n", "1"),
            weft_file_row("weft run -o FILE wordcount", job, source)]
    rows += [weft_row(f"weft, WEFT_ISA={isa}", job, source, env={"WEFT_ISA": isa})
             for isa in peers.isa_choices()]
    rows += [user_job_row("user's C job, line callback", "wc_line", source),
             user_job_row("user's C job, block callback", "wc_block", source),
             probe_row("probe wcfast -t 2", "wcfast", "-t", "2", source),
             probe_row("probe wcfast -t 1", "wcfast", "-t", "1", source),
             probe_row("probe wcemit -m 4 (block)", "wcemit", "-t", "2", "-m", "4", source),
             probe_row("probe wcemit -m 7 (line)", "wcemit", "-t", "2", "-m", "7", source),
             duckdb_row(source), duckdb_row(source, is_sorted=True), pipeline_row(source)]
    base = "weft run wordcount"
    targets = [
        faster(base, "DuckDB, unsorted", 10, "at least 10 times as fast as DuckDB"),
        faster(base, "tr, sort, uniq -c", 60, "at least 60 times as fast as tr, sort, uniq -c"),
        within(base, "probe wcfast -t 2", 1.25, "within 1.25 times of the hand-written limit"),
        within("user's C job, line callback", base, 1.5,
               "a user's line callback within 1.5 times of the built-in"),
        within("user's C job, block callback", base, 1.3,
               "a user's block callback within 1.3 times of the built-in")]
    return Group("wordcount", f"Word count of {place.MB} MiB of Zipf text", source, rows, base,
                 targets)


def distinct():
    source, job = data.card(place.MB), ["wordcount"]
    rows = [weft_row("weft run wordcount", job, source),
            weft_file_row("weft run -o FILE wordcount", job, source),
            weft_row("weft run --memory 256M wordcount", job, source, "--memory", "256M"),
            sort16_row("count", source, "counts"), duckdb_row(source),
            pipeline_row(source, "-S 4G --parallel=2")]
    base, small = "weft run wordcount", "weft run --memory 256M wordcount"
    pipeline = "tr, sort -S 4G --parallel=2, uniq -c"
    targets = [
        faster(base, "DuckDB, unsorted", 5, "at least 5 times as fast as DuckDB"),
        faster(base, pipeline, 13, "at least 13 times as fast as tr, sort, uniq -c"),
        within(small, base, 3, "with 256 MiB at least a third of that speed"),
        memory(small, 256, "with 256 MiB within the limit")]
    return Group("distinct", f"Word count of {place.MB} MiB of mostly distinct keys", source, rows,
                 base, targets)


def sort():
    source, job = data.tera(place.MB), ["sort"]
    rows = [weft_row("weft run sort", job, source, form="bytes"),
            weft_file_row("weft run -o FILE sort", job, source, form="bytes"),
            weft_row("weft run --memory 256M sort", job, source, "--memory", "256M", form="bytes"),
            sort16_row("tera", source, "bytes")]
    for size in ("4G", "256M"):
        rows.append(Row(f"sort --parallel=2 -S {size}",
                        lambda out, size=size: peers.gnu_sort(source, out, size), form="bytes",
                        to_stdout=False, env=peers.PLAIN, rounds=3))
    base, small = "weft run sort", "weft run --memory 256M sort"
    targets = [
        faster(base, "sort --parallel=2 -S 4G", 8, "at least 8 times as fast as GNU sort"),
        faster(small, "sort --parallel=2 -S 256M", 2,
               "at least twice as fast as GNU sort, both held to 256 MiB"),
        memory(small, 256, "with 256 MiB within the limit")]
    return Group("sort", f"Sort of {place.MB} MiB of 100-byte lines", source, rows, base, targets)


def grep():
    source, word = data.zipf(place.MB), data.rare_word()
    gnu = "LC_ALL=C grep -ahE"
    rows = [weft_row(f"weft run -n {slots} grep", ["grep", word], source, "-n", str(slots),
                     form="bytes") for slots in (1, 2)]
    rows.append(Row(gnu, lambda out: ["grep", "-ahE", word, str(source)], form="bytes",
                    env=peers.PLAIN, may_end_with=(0, 1)))  # 1: no line matches
    targets = [
        faster("weft run -n 1 grep", gnu, 1, "on one core as fast as GNU grep"),
        faster("weft run -n 2 grep", gnu, 1.7, "on two cores 1.7 times as fast as GNU grep")]
    return Group("grep", f"Lines with a rare word in {place.MB} MiB of Zipf text", source, rows,
                 "weft run -n 1 grep", targets)


def small():
    empty = data.empty_file()
    rows = [Row("a C program that does nothing", lambda out: [place.own_tool("nothing")],
                form=None),
            Row("weft version", lambda out: [peers.weft(), "version"], form=None),
            weft_row("weft run wordcount EMPTY", ["wordcount"], empty),
            Row("user's C job on EMPTY", lambda out: [peers.user_job("wc_line"), empty]),
            Row("weft run wc_line.c EMPTY (built before)",
                lambda out: weft_run([place.BENCH / "jobs" / "wc_line.c"], empty),
                has_first_run=True)]
    base = "weft run wordcount EMPTY"
    targets = [extra(base, "a C program that does nothing", 10,
                     "an empty job under 10 ms more than starting a C program")]
    return Group("small", "Starting", None, rows, base, targets, rounds=SMALL_ROUNDS)


def files():
    source = data.small_files(FILE_COUNT, FILE_BYTES)
    floor = "open, read and close them all"
    base = "weft run wordcount DIR"
    rows = [Row(floor, lambda out: [place.own_tool("openall"), source], form=None),
            Row("find, xargs cat", lambda out: peers.shell(
                f"find {source} -type f -print0 | xargs -0 cat"), form=None),
            weft_row(base, ["wordcount"], source),
            weft_row("weft run -n 1 wordcount DIR", ["wordcount"], source, "-n", "1"),
            Row("find, cat, tr, sort, uniq -c", lambda out: peers.shell(
                f"find {source} -type f -print0 | xargs -0 cat | tr -s '[:space:]' '\\n' |"
                " sort | uniq -c"), form="counts", env=peers.PLAIN, rounds=1)]
    targets = [within(base, floor, 2, "bounded by opening them: within twice the time to open "
                                      "and read them on one core")]
    return Group("files", f"{FILE_COUNT} files of {FILE_BYTES} bytes", source, rows, base, targets,
                 rounds=2 * place.ROUNDS)
