#!/usr/bin/env python3
"""members.py SCENARIO [KEY=VALUE...]: starts the members of examples/count, kills some, checks all.

    program=PATH    the program, build/examples/count
    seed=N seeds=N  of `chaos`: the first, and how many
    kills=N         of `chaos`: at most so many in a run
    member=ROLE/I   of the other scenarios: whom it happens to

Stands in a directory with filenames.txt, the files it names, and `total` with their words. Says what
is wrong, one line each, and exits 1; exits 0 when all is as it should be."""

import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

MEMBERS = ["files/0", "reduce/0", "map/0", "map/1"]
HOSTS = MEMBERS[:2]
ABORTED, UNAVAILABLE = 1, 3  # exit codes


def free_ports(count):
    """Ports that are free, and outside of those that connections are given."""
    found = []
    while len(found) < count:
        port = random.SystemRandom().randrange(10000, 30000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found += [port] if port not in found else []
    return found


class Run:
    """One cluster of four: processes, what they print, what went wrong."""

    def __init__(self, options, journal=True, **environment):
        self.options = options
        self.limit = float(options.get("limit", 60))
        self.name = f"run{os.getpid()}"
        shutil.rmtree(self.name, ignore_errors=True)
        os.mkdir(self.name)
        ports = iter(free_ports(4))
        self.cluster = {}
        for member in MEMBERS:
            self.cluster.setdefault(member.split("/")[0], []).append(f"localhost:{next(ports)}")
        self.environment = {"WEFT_EXPECT": "5s", **environment}
        if journal:
            self.environment["WEFT_JOURNAL"] = f"{self.name}/journal"
        self.processes, self.codes, self.starts, self.wrong = {}, {}, {}, []
        self.began = time.monotonic()

    def start(self, member):
        role, index = member.split("/")
        config = {"cluster": self.cluster, "task": {"type": role, "index": int(index)}}
        environment = dict(os.environ, TF_CONFIG=json.dumps(config), **self.environment)
        # stdbuf, which shows lines at once, goes before the sanitizer.
        sanitizer = environment.get("ASAN_OPTIONS", "")
        environment["ASAN_OPTIONS"] = sanitizer + ":verify_asan_link_order=0"
        base = f"{self.name}/{role}-{index}"
        with open(base + ".out", "ab") as out, open(base + ".err", "ab") as err:
            self.processes[member] = subprocess.Popen(
                [*self.prefix(member), "stdbuf", "-oL", self.options["program"]], env=environment, stdout=out, stderr=err,
                stdin=subprocess.DEVNULL)
        self.codes.pop(member, None)
        self.starts[member] = self.starts.get(member, 0) + 1

    def prefix(self, _member):
        """What goes before the program."""
        return []

    def start_all(self, members=MEMBERS):
        for member in members:
            self.start(member)

    def text(self, member, what="out"):
        with open(f"{self.name}/{member.replace('/', '-')}.{what}", errors="replace") as file:
            return file.read()

    def kill(self, member, number=signal.SIGKILL):
        self.processes[member].send_signal(number)
        if number == signal.SIGKILL:
            self.processes[member].wait()

    def look(self):
        """Who has ended by now: their codes."""
        for member, process in self.processes.items():
            if member not in self.codes and process.poll() is not None:
                self.codes[member] = process.returncode
        return self.codes

    def alive(self):
        self.look()
        return [member for member in self.processes if member not in self.codes]

    def say(self, sentence):
        self.wrong.append(sentence)

    def wait_for(self, what, done, seconds=None):
        end = time.monotonic() + (seconds or self.limit)
        while not done():
            if time.monotonic() > end:
                self.say(f"{what} does not happen; alive: {self.alive()}")
                return False
            time.sleep(0.002)
        return True

    def wait_all(self):
        return self.wait_for("the end", lambda: not self.alive())

    def check_codes(self, members=MEMBERS, code=0):
        for member in members:
            if self.look().get(member) != code and not self.is_too_late(member):
                self.say(f"{member} ends with {self.codes.get(member)}, not {code}: "
                         f"{self.text(member, 'err')[-300:]}")

    def check_total(self):
        with open("total", encoding="ascii") as file:
            total = int(file.read())
        lines = self.text("reduce/0").splitlines()
        # Whoever was killed may have left half a line.
        if not lines or not lines[-1].endswith(f"{total} words so far"):
            self.say(f"the last line is {lines[-1:]}, the total {total}")

    def is_too_late(self, member):
        """Killed after its last goodbye and started again: those it looks for have gone home."""
        return (self.starts[member] > 1 and self.codes.get(member) == UNAVAILABLE
                and all(self.codes.get(other) == 0 for other in MEMBERS if other != member)
                and "nobody listens there" in self.text(member, "err"))

    def finish(self):
        """Ends what is left; the number of things that were wrong."""
        for member in self.alive():
            self.processes[member].kill()
            self.processes[member].wait()
        if self.wrong:
            kept = f"{self.name}-{int(time.time() * 1000)}"
            os.rename(self.name, kept)
            for line in self.wrong:
                print(f"{self.options.get('label', '')}{line} ({kept})")
        else:
            shutil.rmtree(self.name, ignore_errors=True)
        return len(self.wrong)


# ---- What happens --------------------------------------------------------------------------------


def check_lines(run):
    """The lines as the article's members print them: each file once, the sums growing to the total."""
    with open("filenames.txt", encoding="ascii") as file:
        names = sorted(file.read().split())
    lines = (run.text("map/0") + run.text("map/1")).splitlines()
    words = [re.fullmatch(r"(\d+) words in (\S+)", line) for line in lines]
    if not all(words) or sorted(match[2] for match in words) != names:
        run.say("the mappers do not name each file once")
    sums = [re.fullmatch(r"(\d+) words so far", line) for line in run.text("reduce/0").splitlines()]
    values = [int(match[1]) for match in sums if match]
    if not all(sums) or values != sorted(set(values)) or values[:1] == [0] == values[-1:]:
        run.say("the sums do not grow")
    if run.text("files/0"):
        run.say("files/0 prints something")


def orders(options):
    """Members are started in every order, or some of them, a moment between each two."""
    failed = 0
    for order in list(itertools.permutations(MEMBERS))[::int(options.get("step", 1))]:
        run = Run(options, journal=False)
        for member in order:
            run.start(member)
            time.sleep(0.05)
        run.wait_all()
        run.check_codes()
        run.check_total()
        check_lines(run)
        failed += run.finish()
    return failed


def late(options):
    """One member comes 3 s after the others: they wait and say for whom."""
    member = options["member"]
    run = Run(options, journal=False)
    run.start_all([other for other in MEMBERS if other != member])
    time.sleep(3)
    if member in HOSTS and len(run.alive()) < 3:
        run.say("somebody did not wait")
    run.start(member)
    run.wait_all()
    run.check_codes()
    run.check_total()
    who = {"files/0": ["map/0", "map/1"], "reduce/0": ["map/0"]}.get(member, [])
    for other in who:
        if f"waiting for /{member} at" not in run.text(other, "err"):
            run.say(f"{other} does not say for whom it waits")
    return run.finish()


def early(options):
    """files/0 is done before reduce/0 is there: that one must not wait for it."""
    run = Run(dict(options, limit=20), journal=False, WEFT_EXPECT="60s")
    run.start_all(["files/0", "map/0", "map/1"])
    time.sleep(1.5)
    run.start("reduce/0")
    run.wait_all()
    run.check_codes()
    run.check_total()
    return run.finish()


def never(options):
    """One mapper is never started: the others end by themselves, with all that is to be counted."""
    member = options["member"]
    others = [other for other in MEMBERS if other != member]
    run = Run(options, journal=False, WEFT_EXPECT="1s", WEFT_PATIENCE="1s")
    run.start_all(others)
    run.wait_all()
    if member in HOSTS:
        for other in ["map/0", "map/1"]:
            if run.codes.get(other) == 0 or f"/{member} at" not in run.text(other, "err"):
                run.say(f"{other} does not say who is missing: {run.codes.get(other)}, "
                        f"{run.text(other, 'err')[-300:]}")
    else:
        run.check_codes(others)
        run.check_total()
    return run.finish()


def chaos_once(options, seed):
    random.seed(seed)
    run = Run(dict(options, label=f"seed {seed}: "), WEFT_SESSION_TTL="3s", WEFT_PATIENCE="8s")
    members = MEMBERS[:]
    random.shuffle(members)
    run.start_all(members)
    left = random.randint(1, int(options.get("kills", 8)))
    trigger = random.choice([None, None, "out", "err"])
    wait = random.choice([0.01, 0.05, 0.3])
    due = time.monotonic() + random.random() * wait
    seen = 0
    while run.alive() and time.monotonic() - run.began < run.limit:
        size = sum(len(run.text(member, trigger)) for member in MEMBERS) if trigger else 0
        if left and (time.monotonic() >= due or size > seen):
            seen = size
            member = random.choice(run.alive() or MEMBERS)
            if member in run.alive():
                run.kill(member)
                left -= 1
            due = time.monotonic() + random.random() * wait
        for member in MEMBERS:
            if run.look().get(member) == -signal.SIGKILL:
                run.start(member)
        time.sleep(0.001)
    run.wait_for("the end", lambda: not run.alive(), 0.1)
    run.check_codes()
    run.check_total()
    return run.finish()


def chaos(options):
    """Members are killed at random moments, or at lines they print, and started again."""
    first, failed = int(options.get("seed", 1)), 0
    for seed in range(first, first + int(options.get("seeds", 20))):
        failed += chaos_once(options, seed)
    return failed


def at_line(options):
    """One member is killed at the beginning and after so many lines of the mappers, again and again."""
    member, failed = options["member"], 0
    for count in range(0, int(options.get("lines", 22)), int(options.get("step", 5))):
        run = Run(options, WEFT_SESSION_TTL="3s", WEFT_PATIENCE="8s")
        run.start_all()
        run.wait_for(f"line {count}", lambda: not run.alive() or count <= sum(
            run.text(other).count("\n") for other in ["map/0", "map/1"]))
        if member in run.alive():
            run.kill(member)
            run.start(member)
        run.wait_all()
        run.check_codes()
        run.check_total()
        failed += run.finish()
    return failed


def start_and_stop_a_mapper(options):
    """A run whose map/0 stands still in the middle of its work: it uses all hosts, and is not done."""
    for _ in range(20):
        run = Run(options, journal=False, WEFT_EXPECT="3s", WEFT_PATIENCE="5s")
        run.start_all()
        # On a busy machine map/1 may have done it all before map/0 has its share.
        run.wait_for("some lines", lambda: not run.alive() or (
            run.text("reduce/0").count("\n") > 3 and run.text("map/0").count("\n") > 3))
        run.kill("map/0", signal.SIGSTOP)
        if run.wrong or ("map/0" in run.alive()
                         and run.text("map/0").count("\n") + run.text("map/1").count("\n") < 200):
            break
        run.finish()  # it came too late
    return run


def no_journal(options):
    """A host without a journal is killed and started again: ABORTED, by name, and no empty queue."""
    member = options["member"]
    run = start_and_stop_a_mapper(options)
    run.kill(member)
    run.start(member)
    run.kill("map/0", signal.SIGCONT)
    # files/0 would fill its new queue and wait for somebody who takes: nobody is left.
    run.wait_for("the end of the others", lambda: not set(run.alive()) - {"files/0"})
    users = ["map/0", "map/1"]
    told = [other for other in users if run.codes.get(other) == ABORTED
            and f"/{member}" in run.text(other, "err") and "started again" in run.text(other, "err")]
    if not told:
        run.say("nobody is told: " + " | ".join(run.text(other, "err")[-200:] for other in users))
    return run.finish()


def dead_mapper(options):
    """A mapper dies for good: what it had goes to the other one."""
    run = Run(options, journal=False, WEFT_SESSION_TTL="1s")
    run.start_all()
    run.wait_for("a line", lambda: run.text(options["member"]))
    run.kill(options["member"])
    run.wait_all()
    run.check_codes([member for member in MEMBERS if member != options["member"]])
    run.check_total()
    return run.finish()


def stopped(options):
    """A member stands still for longer than a session lives without a connection."""
    run = Run(options, WEFT_SESSION_TTL="1s")
    run.start_all()
    run.wait_for("a line", lambda: run.text("map/0") or run.text("map/1"))
    run.kill(options["member"], signal.SIGSTOP)
    time.sleep(2.5)
    run.kill(options["member"], signal.SIGCONT)
    run.wait_all()
    run.check_codes()
    run.check_total()
    return run.finish()


def main():
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    scenarios = {scenario.__name__: scenario for scenario in (
        orders, late, early, never, chaos, at_line, no_journal, dead_mapper, stopped)}
    return 1 if scenarios[sys.argv[1]](options) else 0


if __name__ == "__main__":
    sys.exit(main())
