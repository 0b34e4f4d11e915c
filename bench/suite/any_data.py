"""Any program, any data: commands, compressed and structured files, and what resuming costs."""
import shlex

from . import data, peers, place
from .groups import weft_file_row, weft_row
from .measure import Group, Row
from .report import faster, within

PYTHON_MB = max(1, place.MB // 64)
JOBS = place.BENCH / "jobs"


def command_row(name, source, *options, **more):
    return Row(name, lambda out: [peers.weft(), "run", "-q", "--tmp", place.TEMP, *options, "-o",
                                  out, source], to_stdout=False, is_ours=True, **more)


def cat():
    source = data.zipf(place.MB)
    peer = "cat FILE | cat"
    rows = [command_row(f"weft run -n {slots} --map cat", source, "-n", str(slots), "--map", "cat",
                        form="bytes") for slots in (1, 2)]
    rows.append(Row(peer, lambda out: peers.shell(
        f"cat {shlex.quote(str(source))} | cat > {out}"), form="bytes", to_stdout=False))
    targets = [faster("weft run -n 1 --map cat", peer, 1, "one slot no slower than cat FILE | cat"),
               faster("weft run -n 2 --map cat", peer, 1, "two slots no slower than it")]
    return Group("cat", f"A command as mapper: cat over {place.MB} MiB", source, rows,
                 "weft run -n 2 --map cat", targets)


def xargs_pipeline(folder, out):
    """Each piece mapped and sorted by one of two processes, then merged and reduced."""
    each = (f"python3 {JOBS / 'wc_map.py'} < $1 | sort > {place.TEMP}/sorted.$(basename $1)")
    return peers.shell(
        f"rm -f {place.TEMP}/sorted.*; ls {folder}/* | xargs -n 1 -P {place.CORES} sh -c "
        f"{shlex.quote(each)} sh && sort -m {place.TEMP}/sorted.* | "
        f"python3 {JOBS / 'wc_reduce.py'} > {out}; rm -f {place.TEMP}/sorted.*")


def streaming():
    source = data.zipf(PYTHON_MB)
    folder = data.pieces(source, 16)
    mapper, reducer = f"python3 {JOBS / 'wc_map.py'}", f"python3 {JOBS / 'wc_reduce.py'}"
    base, two = "weft run --map --reduce", "weft run --map --reduce --reducers 2"
    plain = "sort, xargs -P 2, python3"
    rows = [command_row(base, source, "--map", mapper, "--reduce", reducer),
            command_row(two, source, "--map", mapper, "--reduce", reducer, "--reducers", "2"),
            command_row("weft run --map --combine --reduce", source, "--map", mapper, "--combine",
                        reducer, "--reduce", reducer),
            Row(plain, lambda out: xargs_pipeline(folder, out), to_stdout=False, env=peers.PLAIN),
            Row("Hadoop Streaming 3.4.2", lambda out: peers.hadoop_streaming(
                source, out, mapper, reducer), to_stdout=False, rounds=1)]
    targets = [faster(base, plain, 1, "no slower than xargs, pipes and sort"),
               faster(base, "Hadoop Streaming 3.4.2", 1, "no slower than Hadoop Streaming")]
    return Group("streaming", f"Word count by two Python scripts, {PYTHON_MB} MiB of Zipf text",
                 source, rows, base, targets)


def gzip():
    plain = data.zipf(place.MB)
    source = data.gzipped(plain)
    base, pipe = "weft run wordcount FILE.gz", "zcat FILE.gz | weft run wordcount -"
    quoted = shlex.quote(str(source))
    rows = [weft_row(base, ["wordcount"], source),
            Row(pipe, lambda out: peers.shell(
                f"zcat {quoted} | {peers.weft()} run -q --tmp {place.TEMP} wordcount -"),
                is_ours=True),
            Row("zcat, tr, sort, uniq -c", lambda out: peers.shell(
                f"zcat {quoted} | tr -s '[:space:]' '\\n' | sort -T {place.TEMP} | uniq -c"),
                form="counts", env=peers.PLAIN, rounds=1),
            Row("zcat alone", lambda out: peers.shell(f"zcat {quoted} > /dev/null"), form=None)]
    targets = [faster(base, "zcat, tr, sort, uniq -c", 1, "faster than the pipeline"),
               faster(base, pipe, 1, "no slower than through zcat"),
               faster(base, "zcat alone", 1, "no slower than zcat alone")]
    return Group("gzip", f"Word count of {place.MB} MiB of Zipf text in one gzip file", source,
                 rows, base, targets)


def group_by(form, source, title):
    job, peer = f"weft, C job over {form}", f"DuckDB, read_{'csv' if form == 'csv' else 'json'}"
    rows = [Row(job, lambda out: [peers.user_job(f"{form}_group"), "-q", "--tmp", place.TEMP, "-o",
                                  out, source], to_stdout=False, is_ours=True),
            Row(peer, lambda out: peers.duckdb_group(form, source, out), to_stdout=False,
                is_sorted=False)]
    return Group(form, title, source, rows, job,
                 [faster(job, peer, 1, "at least DuckDB's speed")])


def csv():
    return group_by("csv", data.csv(place.MB), f"Group by over {place.MB} MiB of csv")


def jsonl():
    return group_by("jsonl", data.jsonl(place.MB), f"Group by over {place.MB} MiB of JSON lines")


def resume():
    """A long job, so that there are checkpoints, into a directory; and the same without a journal."""
    source = data.card(place.MB)
    long = data.zipf(8 * place.MB)
    rows = []
    # What was run last leaves its memory to the next one: each row follows one of the other job.
    for how, env in (("", {}), (", not resumable", {"WEFT_RESUME": "0"})):
        for name, job, text in (("count", "count", source),
                                ("wordcount of 8 times as much", "wordcount", long)):
            rows.append(Row(f"weft run {name} -o DIR/{how}", lambda out, job=job, text=text:
                            peers.shell(f"rm -rf {out}.d && {peers.weft()} run -q --tmp {place.TEMP}"
                                        f" {job} {text} -o {out}.d/ && rm -rf {out}.d"),
                            form=None, source=text, env=env, is_ours=True))
    targets = [within(f"weft run {name} -o DIR/", f"weft run {name} -o DIR/, not resumable", 1.02,
                      f"{name}: under 2 percent") for name in ("count",
                                                               "wordcount of 8 times as much")]
    return Group("resume", "What being resumable costs when nothing fails", None, rows,
                 "weft run count -o DIR/", targets)
