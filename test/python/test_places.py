"""Where the code of a job finds itself: directories, packages, standard input and output, and processes that it forks."""
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

WAIT = 60


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("a b a\nc a\n")
    (tmp_path / "elsewhere").mkdir()
    return tmp_path


def script(name, text):
    with open(name, "w") as file:
        file.write(textwrap.dedent(text))
    return name


def weft_run(*words, code=0, text=None, stdout=subprocess.PIPE):
    ran = subprocess.run(["weft", "run", "-q", *words], input=text, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=WAIT,
                         env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert ran.returncode == code, ran.stderr
    return ran.stdout if code == 0 else ran.stderr


def python(*words, text=None):
    ran = subprocess.run([sys.executable, *words], input=text, capture_output=True, text=True, timeout=WAIT)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


# ---- Directories and packages

WORDS = """\
    def mapfn(line):
        for word in line.split():
            yield word, 1
    fold = sum
    """


def test_a_script_that_changes_its_directory_has_the_inputs_of_the_command(folder):
    script("s.py", 'import os\nos.chdir("elsewhere")\n' + textwrap.dedent(WORDS))
    assert weft_run("s.py", "text") == "a\t3\nb\t1\nc\t1\n"
    weft_run("s.py", "text", "-o", "out")
    assert (folder / "out").exists()


def test_the_source_and_the_final_of_such_a_script_are_where_it_is(folder):
    (folder / "elsewhere" / "book").write_text("x y")
    script("s.py", """\
        import os
        os.chdir("elsewhere")
        class Source:
            def __iter__(self): return iter(["book"])
            def __getitem__(self, name): return open(name).read()
        source = Source()
        def mapfn(name, text): return [(word, 1) for word in text.split()]
        def reducefn(word, ones): return len(ones)
        def final(word, count): open("results", "a").write(f"{word} {count}\\n")
        """)
    weft_run("s.py")
    assert (folder / "elsewhere" / "results").read_text() == "x 1\ny 1\n"


@pytest.mark.parametrize("words", [["-m", "pack.program"], ["-m", "pack"], ["-m", "pack.deep.program"]])
def test_a_program_in_a_package(folder, words):
    (folder / "pack" / "deep").mkdir(parents=True)
    for name in "pack/__init__.py", "pack/deep/__init__.py":
        script(name, "")
    script("pack/cut.py", "def words(line): return line.split()\n")
    text = """\
        import weft
        from DOTS import cut
        from DOTScut import words
        def pairs(line): return [(word, 1) for word in cut.words(line)]
        if __name__ == "__main__":
            print(dict(weft.run(map=pairs, fold=sum, inputs="text")), dict(weft.run(map=words, fold=weft.count, inputs="text")))
        """
    script("pack/program.py", text.replace("DOTS", "."))
    script("pack/__main__.py", text.replace("DOTS", "."))
    script("pack/deep/program.py", text.replace("DOTS", ".."))
    assert python(*words) == "{'a': 3, 'b': 1, 'c': 1} {'a': 3, 'b': 1, 'c': 1}\n"


def test_a_program_in_a_package_whose_work_is_done_by_a_client(folder):
    (folder / "pack").mkdir()
    script("pack/__init__.py", "")
    script("pack/cut.py", "def words(line): return line.split()\n")
    script("pack/program.py", """\
        import weft
        from . import cut
        def pairs(line): return [(word, 1) for word in cut.words(line)]
        if __name__ == "__main__":
            print(dict(weft.run(map=pairs, fold=sum, inputs="text", listen="localhost:0", port_file="port", timeout="50s")))
        """)
    program = subprocess.Popen([sys.executable, "-m", "pack.program"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        while not os.path.exists("port") or not open("port").read().strip():
            assert program.poll() is None, program.stderr.read()
        subprocess.run(["weft", "client", "-q", "-n", "1", "--memory", "1G", open("port").read().strip()], cwd=folder / "elsewhere", check=True,
                       timeout=WAIT, env={**os.environ, "WEFT_PYTHON": sys.executable})
        out, err = program.communicate(timeout=WAIT)
        assert (program.returncode, out) == (0, "{'a': 3, 'b': 1, 'c': 1}\n"), err
    finally:
        program.kill()
        program.wait()


# ---- Words of the command

@pytest.mark.parametrize("words", [["--format", "csv:header", "s.py"], ["s.py", "--format", "csv:header"], ["s.py", "--format=csv:header"]])
@pytest.mark.parametrize("own", ["", "format = 'lines'\n"])
def test_a_format_of_the_command_is_that_of_the_records(words, own):
    open("data", "w").write("name,number\nx,1\ny,2\n")
    script("s.py", own + "def mapfn(row): yield row['name'], int(row['number'])\nfold = sum\n")
    assert weft_run(*words, "data") == "x\t1\ny\t2\n"


def test_a_record_that_is_not_json_is_a_sentence():
    script("s.py", "format = 'jsonl'\ndef mapfn(record): yield record, 1\n")
    said = weft_run("--max-attempts", "1", "s.py", "text", code=1)
    assert "the record is not JSON: Expecting value" in said and "mapfn" not in said and "json/" not in said


def test_fields_of_csv_may_be_long():
    open("data", "w").write("a," + "x" * 200000 + "\n")
    script("s.py", "format = 'csv'\ndef mapfn(row): yield row[0], len(row[1])\nfold = sum\n")
    assert weft_run("s.py", "data") == "a\t200000\n"


def test_a_final_that_is_not_a_function_is_refused_before_the_work():
    script("s.py", "source = [1]\ndef mapfn(value):\n    open('called', 'w')\n    yield 1, 1\nfold = sum\nfinal = 3\n")
    assert "final is 3, not a function" in weft_run("s.py", code=1) and not os.path.exists("called")


def test_the_words_of_a_script_are_those_after_it():
    script("s.py", "import sys\nmapfn = lambda line: [(' '.join(sys.argv), 1)]\nfold = sum\n")
    assert weft_run("--slots", "1", "s.py", "text", "--skip-bad", "3") == "s.py text --skip-bad 3\t2\n"
    assert weft_run("--", "s.py", "text") == "s.py text\t2\n"


@pytest.mark.parametrize("words", [["text"], ["--slots", "1", "text"]])
def test_a_source_with_inputs_is_refused(words):
    script("s.py", "source = [1]\ndef mapfn(value): yield value, 1\nfold = sum\ndef final(key, value): print(key)\n")
    assert "s.py has a source, and its items are the input\n  try: without text" in weft_run("s.py", *words, code=2)
    assert weft_run("s.py") == "1\n"


# ---- Standard input and output

def test_standard_input_is_an_input_of_a_program():
    assert python("-c", "import weft; print(dict(weft.run(map=str.split, fold=weft.count, inputs='-')))", text="x y x\n") == "{'x': 2, 'y': 1}\n"


@pytest.mark.parametrize("line", ["sys.stdout.close()", "sys.stdout = None", "sys.stdout = io.StringIO()"])
def test_a_script_that_puts_its_standard_output_away(line):
    script("s.py", f"import io, sys\n{line}\n" + textwrap.dedent(WORDS))
    assert weft_run("s.py", "text") == "a\t3\nb\t1\nc\t1\n"
    script("t.py", f"import io, sys\n{line}\nsource = [1]\ndef mapfn(value): yield 1, 1\nfold = sum\n"
                   "def final(key, value): open('final', 'w').write(str(value))\n")
    weft_run("t.py")
    assert open("final").read() == "1"


def test_a_reader_of_results_that_has_seen_enough():
    script("s.py", "source = list(range(20000))\ndef mapfn(value): yield value, 1\nfold = sum\n")
    command = subprocess.Popen(["weft", "run", "-q", "s.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "WEFT_PYTHON": sys.executable})
    assert command.stdout.readline() == "0\t1\n"
    command.stdout.close()
    assert command.stderr.read() == "" and command.wait(WAIT) == 0
    command.stderr.close()


def test_a_full_disk_is_reported_as_for_other_jobs():
    script("s.py", "source = list(range(20))\ndef mapfn(value): yield value, 1\nfold = sum\n")
    with open("/dev/full", "w") as full:
        assert "cannot write standard output: no space left" in weft_run("s.py", code=5, stdout=full)


def test_results_that_cannot_be_shown_are_named_by_their_key():
    script("s.py", "source = [1]\ndef mapfn(value): yield 'k', '\\ud800'\nreducefn = lambda key, values: values[0]\n")
    said = weft_run("s.py", code=1)
    assert "cannot be written as text" in said and "at the key 'k'" in said


# ---- Integers

def test_integers_of_any_size_are_text():
    script("s.py", "def mapfn(line):\n    yield 10**6000, 1\n    yield 'sum', 10**5000\n    yield 'pair', (1, -10**5000)\n"
                   "def reducefn(key, values): return values[0]\n")
    got = dict(line.split("\t") for line in weft_run("s.py", "text").splitlines())
    assert got == {"1" + "0" * 6000: "1", "sum": "1" + "0" * 5000, "pair": "(1, -1" + "0" * 5000 + ")"}
    script("t.py", "def mapfn(line):\n    yield 10**6000, 1\ndef reducefn(key, values): raise ValueError(line)\n")
    assert "at the key 0x" in weft_run("--max-attempts", "1", "--record-timeout", "50s", "t.py", "text", code=1)


# ---- Processes

@pytest.mark.parametrize("where", ["mapfn", "reducefn"])
def test_a_forked_process_that_returns_does_not_answer_for_the_slot(where):
    """It has the pipes of the slot: its answers would be taken for those of the other, and pairs were lost."""
    script("s.py", f"""\
        import os
        def fork():
            child = os.fork()
            if child:
                os.waitpid(child, 0)
            return child
        def mapfn(line):
            if "{where}" == "mapfn" and not fork():
                return
            for word in line.split(): yield word, 1
        def reducefn(key, values):
            return sum(values) if "{where}" == "mapfn" or fork() else -1
        """)
    assert weft_run("s.py", "text") == "a\t3\nb\t1\nc\t1\n"


@pytest.mark.parametrize("function, given", [("mapfn", "def mapfn(): yield 1, 1\nfold = sum"), ("fold", "def mapfn(line): yield 1, 1\nfold = operator.add"),
                                             ("reducefn", "def mapfn(line): yield 1, 'x'\ndef reducefn(key): return 1")])
def test_a_function_that_cannot_be_called_so_is_named(function, given):
    script("s.py", "import operator\n" + given + "\n")
    assert f"{function} raised TypeError" in weft_run("--max-attempts", "1", "s.py", "text", code=1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("where", ["mapfn", "final", "source"])
def test_a_script_that_is_ended_leaves_nothing(folder, number, where):
    (folder / "tmp").mkdir()
    script("s.py", f"""\
        import os, time
        def stay(here):
            if here == "{where}":
                open("begun-" + str(os.getpid()), "w").close()
                time.sleep(1000)
        class Source(dict):
            def __getitem__(self, key): return stay("source")
        source = Source(a=1)
        def mapfn(key, value):
            stay("mapfn")
            yield key, 1
        fold = sum
        def final(key, value): stay("final")
        """)
    command = subprocess.Popen(["weft", "run", "-q", "s.py"], stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "WEFT_PYTHON": sys.executable, "TMPDIR": str(folder / "tmp")})
    while not list(folder.glob("begun-*")):
        assert command.poll() is None, command.stderr.read()
        time.sleep(0.01)
    command.send_signal(number)
    command.communicate(timeout=WAIT)
    assert command.returncode == 128 + number
    assert os.listdir(folder / "tmp") == []
    slot = int(next(folder.glob("begun-*")).name.split("-")[1])
    while os.path.exists(f"/proc/{slot}"):
        time.sleep(0.01)


def test_the_files_of_a_job_are_where_the_option_tmp_says(folder, monkeypatch):
    for name in "tmp", "other":
        (folder / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "other"))
    script("p.py", """\
        import os, weft
        def names(value): return [(value, os.listdir("tmp") != [] and os.listdir("other") == [])]
        if __name__ == "__main__":
            print(dict(weft.run(map=names, fold=min, source=[1], tmp="tmp")))
        """)
    assert python("p.py") == "{1: True}\n"
    assert os.listdir("tmp") == os.listdir("other") == []


# ---- Threads

OWN_FOLD = """\
def fold(values):
    total = 0
    for value in values: total += value
    return total
"""


@pytest.mark.parametrize("end", ["reducefn = lambda key, values: len(values)", "fold = sum", "import weft\nfold = weft.count", OWN_FOLD])
def test_threads_of_mapfn_may_emit(end):
    script("s.py", """\
        from concurrent.futures import ThreadPoolExecutor
        def mapfn(line, emit):
            def work(number):
                for i in range(2000):
                    emit(f"{line}-{number}-{i % 1000}", 1)
                    emit(f"{line}-all", 1)
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(work, range(8)))
        """)
    open("s.py", "a").write(end + "\n")
    got = dict(line.split("\t") for line in weft_run("--max-attempts", "1", "s.py", "text").splitlines())
    assert got.pop("a b a-all") == got.pop("c a-all") == "16000"
    assert len(got) == 16000 and set(got.values()) == {"2"}


def test_a_thread_that_mapfn_has_left_running_cannot_emit():
    """Its pairs came into frames of other kinds, and the output was damaged."""
    script("s.py", """\
        import threading, time
        def mapfn(line, emit):
            emit(line, 1)
            def work():
                while emit is not None:
                    try: emit("late", 1)
                    except RuntimeError: time.sleep(0.0001)
            threading.Thread(target=work, daemon=True).start()
        def fold(values): return max(values)
        """)
    open("lines", "w").write("".join(f"{number}\n" for number in range(50)))
    got = dict(line.split("\t") for line in weft_run("--max-attempts", "1", "--lines-per-task", "1", "s.py", "lines").splitlines())
    got.pop("late", None)
    assert got == {str(number): "1" for number in range(50)}


@pytest.mark.parametrize("where", ["fold", "a pickle"])
def test_emit_inside_of_emit_is_refused(where):
    script("s.py", f"""\
        class Again:
            def __init__(self, emit): self.emit = emit
            def __reduce__(self):
                self.emit("again", 1)
                return (int, ("1",))
        kept = []
        def mapfn(line, emit):
            kept.append(emit)
            for _ in range(5000): emit("k", Again(emit) if {where == "a pickle"} else 1)
        def join(values):
            kept and kept[0]("again", 1)
            return len(values)
        if {where == "fold"}: fold = join
        else: reducefn = lambda key, values: len(values)
        """)
    assert "emit() works inside mapfn only" in weft_run("--max-attempts", "1", "s.py", "text", code=1)
