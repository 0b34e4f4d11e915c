"""The programs we measure against, and how each is called. Absent ones raise place.Absent."""
import functools
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from . import place

# The bytes' order and no decoding, for every tool.
PLAIN = {"LC_ALL": "C"}


def shell(script):
    """A pipeline fails when any part of it does."""
    return ["bash", "-o", "pipefail", "-c", script]


@functools.cache
def duckdb_python():
    """The Python of a virtual environment that has DuckDB, made on first use from PyPI."""
    venv = place.CACHE / "venv"
    python = venv / "bin" / "python"
    if python.exists() and not subprocess.run([python, "-c", "import duckdb"],
                                              capture_output=True).returncode:
        return python
    place.say("installing DuckDB from PyPI")
    steps = [[sys.executable, "-m", "venv", venv],
             [python, "-m", "pip", "--disable-pip-version-check", "-q", "install", "duckdb"]]
    for step in steps:
        try:
            done = subprocess.run(step, capture_output=True, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            raise place.Absent("DuckDB: pip did not finish in ten minutes") from None
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["it failed"]
            raise place.Absent(f"DuckDB: {lines[-1]}")
    return python


def duckdb_count(source, out, is_sorted=False):
    command = [duckdb_python(), place.BENCH / "duck_count.py", source, out, place.TEMP,
               place.CORES]
    return [str(part) for part in command] + (["sorted"] if is_sorted else [])


def duckdb_group(form, source, out):
    command = [duckdb_python(), place.BENCH / "duck_group.py", form, source, out, place.TEMP,
               place.CORES]
    return [str(part) for part in command]


def hadoop_streaming(source, out, mapper, reducer):
    """Real Hadoop Streaming in one process, from the jars that test/streaming/record fetches."""
    jars = Path(place.HADOOP)
    if not list(jars.glob("**/hadoop-streaming-*.jar")):
        raise place.Absent("Hadoop: test/streaming/record fetches it")
    folder = place.TEMP / "hadoop"
    path = ":".join(sorted({f"{jar.parent}/*" for jar in jars.glob("**/*.jar")}))
    return shell(f"rm -rf {folder} && java -cp '{path}' org.apache.hadoop.streaming.HadoopStreaming "
                 f"-fs file:/// -jt local -D hadoop.tmp.dir={folder}/tmp -input file://{source} "
                 f"-output file://{folder}/out -mapper {shlex.quote(mapper)} "
                 f"-reducer {shlex.quote(reducer)} && cat {folder}/out/part-* > {out} && rm -rf {folder}")


def duckdb_version():
    return place.first_line(duckdb_python(), "-c", "import duckdb; print(duckdb.__version__)")


def tr_sort_uniq(source, sort_options=""):
    sort = f"sort {sort_options} -T {shlex.quote(str(place.TEMP))}"
    return shell(f"tr -s '[:space:]' '\\n' < {shlex.quote(str(source))} | {sort} | uniq -c")


def gnu_sort(source, out, memory):
    return ["sort", f"--parallel={min(2, place.CORES)}", "-S", memory, "-T", str(place.TEMP),
            "-o", str(out), str(source)]


@functools.cache
def probe(name):
    """A hand-written program of WEFT_PROBES, compiled for this very machine."""
    if not place.PROBES:
        raise place.Absent(f"{name}: WEFT_PROBES is not set")
    source = Path(place.PROBES) / f"{name}.c"
    if not source.exists():
        raise place.Absent(f"{name}: there is no {name}.c in WEFT_PROBES")
    return str(place.compile_c(source, "-w", "-O3", "-march=native", "-pthread"))


@functools.cache
def python2():
    """A Python 2.7, which mincemeat.py needs."""
    found = [shutil.which("python2.7"), *sorted(Path.home().glob(".pyenv/versions/2.7*/bin/python2.7"))]
    for python in filter(None, found):
        if not subprocess.run([python, "-c", "import asyncore"], capture_output=True).returncode:
            return str(python)
    raise place.Absent("mincemeat.py: there is no python2.7")


@functools.cache
def mincemeat_folder():
    """Where the original mincemeat.py is, from PyPI."""
    folder = place.CACHE / "mincemeat-0.1.4"
    if (folder / "mincemeat.py").exists():
        return folder
    place.say("fetching mincemeat 0.1.4 from PyPI")
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "download", "--no-deps",
                           "--no-binary", ":all:", "-d", place.CACHE, "mincemeat==0.1.4"],
                          capture_output=True, text=True, timeout=600)
    archive = place.CACHE / "mincemeat-0.1.4.tar.gz"
    if not archive.exists():
        lines = (done.stderr or done.stdout).strip().splitlines() or ["pip failed"]
        raise place.Absent(f"mincemeat.py: {lines[-1]}")
    shutil.unpack_archive(archive, place.CACHE, filter="data")
    return folder


def weft():
    if not place.WEFT.exists():
        raise place.Absent("build/weft is not built")
    return str(place.WEFT)


@functools.cache
def user_job(name):
    """One of bench/jobs/, compiled as a user would against the library of the build."""
    weft()
    library = place.WEFT.parent
    if not (library / "libweft.so").exists():
        raise place.Absent("build/libweft.so is not built")
    source = place.BENCH / "jobs" / f"{name}.c"
    target = place.BIN / name
    target.unlink(missing_ok=True)  # the library or its header may have changed
    return str(place.compile_c(source, "-std=c17", "-O2", f"-I{place.ROOT / 'include'}",
                               f"-L{library}", f"-Wl,-rpath,{library}", "-lweft"))


def cpu_flags():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split())
    return set()


# What each value of WEFT_ISA needs of the processor.
ISA_FLAGS = {"avx512": {"avx512f", "avx512bw", "avx512_vbmi2"}, "avx2": {"avx2"}, "plain": set()}


def isa_choices():
    return [name for name, needs in ISA_FLAGS.items() if needs <= cpu_flags()]
