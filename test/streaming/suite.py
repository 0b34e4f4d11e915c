"""What test/streaming/run and test/streaming/record share: reading and writing cases, laying out a
case's files, and looking at what a run left behind.

A case is a text file cases/NAME.case:

    # What it shows.
    file in/a.txt                 a file, its content in the lines that follow
    |key\\tvalue                   a line and its end; \\t \\r \\n \\\\ \\xNN are escapes
    >no end                       a line without its end
    gzip in/b.gz                  the same, compressed; bzip2 likewise
    generate in/n.txt 100 k{i%7}\\t{i}    a line per i from 0, expressions in braces
    tar a.tar.gz bin/x            an archive with the one member bin/x, executable; zip likewise
    directory in/empty
    run -input in -output out -mapper cat        the words behind `hadoop jar hadoop-streaming.jar`
    says TEXT                     (any number) standard error of weft has this text
    refused TEXT                  weft refuses this, naming TEXT; Hadoop's answer is recorded all the same
    ----
    exit 0                        from here on written by record: 0, or 1 for any failure
    part part-00000               what lies in out/, in the order of names, content as above
    |...
    counter GROUP NAME 3          counters of the scripts

{dir} in the words of run is the directory that the case runs in. A compressed part is recorded as what
it holds.
"""
import bz2
import gzip
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tarfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT_SECONDS = 120
OURS = {"_manifest.json"}
RENAMED = HERE.parent.parent / "src/hadoop/renamed.def"


def escape(data):
    out = []
    for byte in data:
        char = chr(byte)
        if char == "\\":
            out.append("\\\\")
        elif char in "\t\r":
            out.append({"\t": "\\t", "\r": "\\r"}[char])
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f"\\x{byte:02x}")
    return "".join(out)


def unescape(text):
    names = {"t": b"\t", "r": b"\r", "n": b"\n", "\\": b"\\"}

    def replace(match):
        word = match.group(1)
        return bytes([int(word[1:], 16)]) if word[0] == "x" else names[word]

    parts = re.split(r"\\(x[0-9a-f]{2}|[trn\\])", text)
    return b"".join(
        replace(re.match("(.*)", part, re.S)) if i % 2 else part.encode() for i, part in enumerate(parts)
    )


def body_lines(data):
    """Content as the lines of a case."""
    lines = data.split(b"\n")
    last = lines.pop()
    return ["|" + escape(line) for line in lines] + ([">" + escape(last)] if last else [])


class Result:
    """What a run came to: exit 0 or 1, parts by name, counters by (group, name)."""

    def __init__(self):
        self.exit = 0
        self.parts = {}
        self.counters = {}

    def lines(self):
        out = [f"exit {self.exit}"]
        for name in sorted(self.parts):
            out += [f"part {name}"] + body_lines(self.parts[name])
        out += [f"counter {g}\t{n}\t{v}" for (g, n), v in sorted(self.counters.items())]
        return out


class Case:
    def __init__(self, path):
        self.path = path
        self.name = path.stem
        self.files = []  # (kind, path, rest, content)
        self.run = []
        self.says = []
        self.refused = None
        self.expected = None
        given, mark, recorded = path.read_text().partition("\n----\n")
        self.given = given.rstrip("\n")
        self._read(self.given.split("\n"), self._take_given)
        if mark:
            self.expected = Result()
            self._read(recorded.split("\n"), self._take_recorded)

    def _read(self, lines, take):
        content = None
        for line in lines:
            if line[:1] in "|>" and line:
                content.append(unescape(line[1:]) + (b"\n" if line[0] == "|" else b""))
            elif line and line[0] != "#":
                content = []
                word, _, rest = line.partition(" ")
                take(word, rest, content)

    def _take_given(self, word, rest, content):
        if word in ("generate", "tar", "zip"):
            path, _, rest = rest.partition(" ")
            self.files.append((word, path, rest, content))
        elif word in ("file", "gzip", "bzip2", "directory"):
            self.files.append((word, rest, "", content))
        elif word == "run":
            self.run = rest
        elif word == "says":
            self.says.append(rest)
        elif word == "refused":
            self.refused = rest
        else:
            raise SystemExit(f"{self.path}: what is '{word}'?")

    def _take_recorded(self, word, rest, content):
        if word == "exit":
            self.expected.exit = int(rest)
        elif word == "part":
            self.expected.parts[rest] = content
        elif word == "counter":
            group, name, value = rest.split("\t")
            self.expected.counters[group, name] = int(value)

    def lay_out(self, directory):
        """Makes the case's files in the directory; the scripts lie beside them."""
        shutil.copytree(HERE / "scripts", directory / "scripts")
        for kind, path, rest, content in self.files:
            target = directory / path
            if kind == "directory":
                target.mkdir(parents=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            data = b"".join(content)
            if kind == "generate":
                data = generate(rest)
            elif kind == "gzip":
                data = gzip.compress(data, mtime=0)
            elif kind == "bzip2":
                data = bz2.compress(data)
            elif kind in ("tar", "zip"):
                data = pack(path, rest, data)
            target.write_bytes(data)

    def words(self, directory):
        return [word.replace("{dir}", str(directory)) for word in shlex.split(self.run)]

    def wanted(self):
        result = Result()
        result.exit = self.expected.exit
        result.counters = self.expected.counters
        result.parts = {name: b"".join(lines) for name, lines in self.expected.parts.items()}
        return result

    def write(self, result):
        text = "\n".join([self.given, "----"] + result.lines()) + "\n"
        self.path.write_text(text)


def pack(path, name, data):
    """An archive with one executable file."""
    out = io.BytesIO()
    if path.endswith((".zip", ".jar")):
        member = zipfile.ZipInfo(name)
        member.create_system, member.external_attr = 3, 0o100755 << 16
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(member, data)
    else:
        member = tarfile.TarInfo(name)
        member.mode, member.size = 0o755, len(data)
        with tarfile.open(fileobj=out, mode="w" if path.endswith(".tar") else "w:gz") as archive:
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def generate(rest):
    count, _, template = rest.partition(" ")
    pieces = re.split(r"\{([^}]*)\}", unescape(template).decode())
    return "".join(
        "".join(str(eval(p, {}, {"i": i})) if n % 2 else p for n, p in enumerate(pieces)) + "\n"
        for i in range(int(count))
    ).encode()


def read_parts(output):
    """The parts of an output directory; what is hidden is the file system's, what is ours is ours."""
    parts = {}
    if not output.is_dir():
        return parts
    for path in sorted(output.iterdir()):
        if path.name.startswith(".") or path.name in OURS or not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix in (".gz", ".bz2") and data:
            data = (gzip if path.suffix == ".gz" else bz2).decompress(data)
        parts[path.name] = data
    return parts


def run_command(words, directory, environment=None):
    """Exit code and standard error of a command; its standard input is empty."""
    try:
        done = subprocess.run(
            words,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return 124, (late.stderr or b"").decode(errors="replace") + "\n(took too long)\n"
    return done.returncode, done.stderr.decode(errors="replace")


def finish(code, output, counters):
    result = Result()
    result.exit = 0 if code == 0 else 1
    result.counters = counters if code == 0 else {}
    # What a failed run leaves is its own affair; that it leaves no result is not.
    result.parts = read_parts(output) if code == 0 else {}
    return result


def find_cases(patterns):
    cases = [Case(path) for path in sorted((HERE / "cases").glob("*.case"))]
    return [c for c in cases if not patterns or any(p in c.name for p in patterns)]


def scratch_base():
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp"


def write_renamed(pairs):
    lines = [
        "// The properties that Hadoop has renamed, older name and newer, from Hadoop 3.4.2 itself. Written by",
        "// test/streaming/record --names.",
        "// clang-format off",
    ]
    lines += [f'RENAMED("{older}",\n        "{newer}")' for older, newer in pairs]
    RENAMED.write_text("\n".join(lines) + "\n")


def read_renamed():
    return re.findall(r'RENAMED\("([^"]+)",\s+"([^"]+)"\)', RENAMED.read_text())
