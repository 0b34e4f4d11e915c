"""Random calls of `weft run grep` and `weft run sort` against GNU's grep and sort.

gnu_cases.py WEFT grep|sort SEED COUNT: runs COUNT calls drawn from SEED in the current directory, prints every
difference, and fails when there was one. Slots, memory and the number of files are drawn too.

Left out, as GNU's own faults: grep -o -w -x (an empty line too many), grep -o -w -F (a match begins a new word for the next
one; not so with -E), grep -o -w of what may be empty (matches behind an empty one are missed), sort -n of the byte 80 (taken for a separator
of thousands), sort -g -u of values that are not a number (their padding is compared).
"""
import os
import random
import subprocess
import sys

environment = dict(os.environ, LC_ALL="C")


def chance(share):
    return random.random() < share


def write_files(names, make_line, sizes):
    files = names[: random.randint(1, len(names))]
    for name in files:
        text = b"\n".join(make_line() for _ in range(random.choice(sizes)))
        if text and chance(0.7):
            text += b"\n"
        with open(name, "wb") as file:
            file.write(text)
    return list(files)


def run(words):
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.returncode, done.stdout, done.stderr


def weft_words(weft, job):
    memory = ["--memory", "16M"] if chance(0.2) else []
    return [weft, "run", "--quiet", *memory, "-n", str(random.randint(1, 3)), job]


def pick(choices, least, most):
    return [random.choice(choices) for _ in range(random.randint(least, most))]


# ---- grep

ATOMS = ["a", "b", "ab", ".", "[a-b]", "[^a]", "\\w", "\\W", "a*", "b+", "(a|b)", "(ab)*", "a{1,2}", "^a", "b$",
         "\\<a", "b\\>", "\\ba", "_", "-", "c?", "(a)\\1", "", "x", "a|b", "\\."]


def grep_line():
    return " ".join("".join(pick("aab_c. -", 0, 6)) for _ in range(random.randint(0, 4))).encode()


def grep_options():
    options = [letter for letter in ("-c", "-i", "-v", "-l", "-a", "-q", "-F") if chance(0.12)]
    options += [letter for letter in ("-w", "-x", "-n") if chance(0.25)]
    options += random.choice([[], [], ["-H"], ["-h"]])
    if "-l" not in options and chance(0.12):
        options.append("-L")
    if "-F" not in options and chance(0.2):
        options.append("-E")
    if not ("-w" in options and ("-x" in options or "-F" in options)) and chance(0.3):
        options.insert(0, "-o")
    if chance(0.2):
        options += ["-m", str(random.randint(0, 5))]
    return options


def may_be_empty(patterns):
    words = [word for pattern in patterns for word in ("-e", pattern)]
    return subprocess.run(["grep", "-qEx", *words], env=environment, input=b"\n", capture_output=True,
                          check=False).returncode == 0


def try_grep(weft):
    files = write_files("fgh", grep_line, [0, 1, 3, 10, 40])
    options = grep_options()
    draw = (lambda: "".join(pick("aab_c. -", 0, 6))) if "-F" in options else (lambda: "".join(pick(ATOMS, 0, 3)))
    patterns = [draw() for _ in range(random.choice([1, 1, 1, 2, 3]))]
    if "-o" in options and "-w" in options and may_be_empty(patterns):
        return None
    words = ["--", patterns[0]]
    if len(patterns) > 1 or chance(0.2):
        words = [word for pattern in patterns for word in ("-e", pattern)]
    defaults = ["-a"] + ([] if "-H" in options else ["-h"]) + ([] if "-F" in options else ["-E"])
    expected = run(["grep", *defaults, *options, *words, *files])
    if expected[0] > 1:
        return None  # not a pattern
    given = run([*weft_words(weft, "grep"), *options, *words, *files])
    code = expected[0] if "-q" in options else 0
    return options + words + files, (code, expected[1]), given


# ---- sort

NUMBERS = ["1", "0", "00", "10", "9", "007", "1.5", ".5", "0.0", "1e3", "1E-2", "0x1F", "inf", "1e400", ".", "1.",
           "12345678901234567890", "1e-4000", "infinity", "0x", "1e"]
MONTHS = ["jan", "FEB", "Mar", "april", "MA", "jun", "DECember", "xjan", " Jul", "\tAug", "sep", "Oct", "nov"]
VERSIONS = ["a", "b", ".", "..", "~", "0", "1", "01", "10", "9", "-", "+", "_", ".c", ".tar", ".gz", "A", "Z", "~1", "0~"]


def sort_field():
    kind = random.randint(0, 5)
    if kind == 0:
        return random.choice(["", "-", "+"]) + random.choice(NUMBERS) + random.choice(["", "K", "k", "M", "G", "Y", "x"])
    if kind == 1:
        return random.choice(MONTHS)
    if kind == 2:
        return "".join(pick(VERSIONS, 0, 6))
    if kind == 3:
        return "".join(chr(code) for code in pick([*range(32, 127), 1, 9, 127], 0, 5))
    if kind == 4:
        return "".join(pick(["\xff", "a", "1", "\0", "~"], 0, 3))
    return random.choice([".", "..", "", ".a", "a0", "a", "a~", "a0~", "a00b", "a0b", "1", "0", "~"])


def sort_line():
    return random.choice([" ", ":", "\t"]).join(sort_field() for _ in range(random.randint(1, 3))).encode("latin1")


def sort_letters():
    return "".join(random.sample("bdfghiMnrV", random.choice([0, 1, 1, 2])))


def try_sort(weft):
    files = write_files("fg", sort_line, [1, 5, 30])
    options = ["-" + letter for letter in sort_letters()]
    options += [letter for letter in ("-r", "-u", "-s") if chance(0.2)]
    for _ in range(random.choice([0, 0, 1, 2])):
        key = f"{random.randint(1, 3)}{random.choice(['', '', '.2'])}{sort_letters()}"
        if chance(0.6):
            key += f",{random.randint(1, 3)}{random.choice(['', '', '.2'])}{sort_letters()}"
        options += ["-k", key]
    options += ["-t", ":"] if chance(0.3) else []
    expected = run(["sort", *options, *files])
    given = run([*weft_words(weft, "sort"), *options, *files])
    # What GNU sort refuses is refused here as well; only the words differ.
    return options + files, (2 if expected[0] else 0, expected[1]), given


def main():
    weft, which, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    random.seed(seed)
    compared = different = 0
    while compared < count and different < 5:
        result = (try_grep if which == "grep" else try_sort)(weft)
        if result is None:
            continue
        compared += 1
        words, expected, given = result
        if expected != given[:2]:
            different += 1
            print(f"seed {seed}: {which} {words}: GNU {expected}, weft {given}")
    return 1 if different else 0


sys.exit(main())
