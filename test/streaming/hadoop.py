"""The real Hadoop Streaming, in one process on the local file system: fetched by Maven by its
coordinates (hadoop/pom.xml), kept outside the tree, started once per case.

Needs java with its compiler and mvn (Debian: default-jdk-headless, maven). WEFT_HADOOP names another place for the jars.
"""
import os
import pathlib
import re
import shutil
import subprocess

import suite

HOME = pathlib.Path(os.environ.get("WEFT_HADOOP", suite.scratch_base() + "/weft-hadoop-3.4.2"))
POLICY = suite.HERE / "hadoop"
# A job lives for seconds: a small compiler and collector start faster.
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Xshare:auto"]
FRAMEWORK_GROUPS = re.compile(
    r"(File System|Job|File Input Format|File Output Format|Map-Reduce Framework|Shuffle Errors)"
)


def is_there():
    return (HOME / "lib").is_dir()


def fetch():
    """Makes sure that the jars are there; the reason why they cannot be, or None."""
    if is_there():
        return None
    for program in ("java", "mvn"):
        if not shutil.which(program):
            return f"there is no {program}\n  try: apt-get install default-jdk-headless maven"
    HOME.mkdir(parents=True, exist_ok=True)
    partial = HOME / "lib.part"
    shutil.rmtree(partial, ignore_errors=True)
    words = ["mvn", "-q", "-B", "-f", str(POLICY / "pom.xml"), "dependency:copy-dependencies"]
    done = subprocess.run(words + [f"-DoutputDirectory={partial}"], cwd=HOME, check=False)
    if done.returncode != 0:
        return "Maven could not fetch Hadoop"
    partial.rename(HOME / "lib")
    return None


def read_counters(talk):
    """The counters that are not Hadoop's own, from the list that it ends with."""
    counters = {}
    group = None
    for line in talk.split("\n"):
        if re.match(r"\t\t[^\t]", line) and group:
            name, _, value = line.strip().rpartition("=")
            counters[group, name] = int(value)
        elif re.match(r"\t[^\t]", line):
            group = line.strip()
            group = None if FRAMEWORK_GROUPS.match(group) else group
    return counters


def run(case, directory):
    """The result of the case and what Hadoop said."""
    classes = f"{POLICY}:{HOME}/lib/*"
    environment = dict(os.environ, HADOOP_USER_NAME="weft")
    main = "org.apache.hadoop.streaming.HadoopStreaming"
    words = JAVA + ["-cp", classes, f"-Dweft.tmp={directory}/.hadoop", main]
    code, talk = suite.run_command(words + case.words(directory), directory, environment)
    return suite.finish(code, directory / "out", read_counters(talk)), talk


def renamed():
    """The properties that Hadoop has renamed, as pairs of an older and a newer name."""
    words = JAVA + ["-cp", f"{POLICY}:{HOME}/lib/*", str(POLICY / "Names.java")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    newer = dict(line.split("\t")[:2] for line in done.stdout.splitlines() if "\t" in line)
    pairs = []
    for name in sorted(newer):
        last = newer[name]
        while last in newer:  # renamed more than once
            last = newer[last]
        pairs.append((name, last))
    return pairs
