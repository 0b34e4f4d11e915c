#!/usr/bin/env python3
"""durable.py SCENARIO HOST_PROGRAM [KEY=VALUE...]: a host with a journal that is killed, torn, full, damaged.

Stands in a directory of its own. What was acknowledged must be there, once, in its order. Says what is
wrong and exits 1; exits 0 when all is as it should be."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

import members
import wire
from wire import Closed, Connection, call, nearby, open_call

TOKEN = bytes(range(16))
WELCOMED = wire.WELCOME


class Host:
    """The process, started again and again with the same journal."""

    def __init__(self, program, journal="journal", **environment):
        self.program, self.journal = program, journal
        self.port = members.free_ports(1)[0]
        self.environment = dict(os.environ, WEFT_TOKEN=TOKEN.hex(), WEFT_JOURNAL=journal,
                                WEFT_EXPECT="1s", **{"WEFT_SESSION_TTL": "5s", **environment})
        self.process = None

    def start(self, waits=True):
        config = {"cluster": {"host": [f"localhost:{self.port}"]},
                  "task": {"type": "host", "index": 0}}
        with open("host.err", "ab") as err:
            self.process = subprocess.Popen(
                [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                env=dict(self.environment, TF_CONFIG=json.dumps(config)))
        if waits:
            line = self.process.stdout.readline()
            assert line == b"ready\n", f"the host does not start: {self.said()[-300:]}"

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stdin.close()

    def stop(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait(30)

    def said(self):
        with open("host.err", encoding="utf-8", errors="replace") as file:
            return file.read()

    def segments(self):
        folder = f"{self.journal}/host-0"
        return sorted(f"{folder}/{name}" for name in os.listdir(folder)
                      if name.startswith("journal-0"))


class Client:
    """A session that outlives connections, as cluster/peer.c has it: numbers, keeps, sends again."""

    def __init__(self, host):
        self.host, self.session, self.connection = host, os.urandom(16), None
        self.sequence, self.kept, self.answered, self.has_session = 0, [], 0, False
        self.answers, self.patience, self.refused = {}, 20, b""

    def connect(self, seconds=None):
        end = time.monotonic() + (seconds or self.patience)
        while True:
            try:
                self.connection = Connection(nearby(self.host.port), TOKEN, 5)
                kind, welcome = self.connection.hello(
                    session=self.session, resumes=int(self.has_session), answered=self.answered)
                if kind == wire.REFUSED and welcome.get(1) == 8:
                    self.refused = welcome.get(2)  # its disk is full: another time
                    raise Closed
                assert kind == WELCOMED, welcome
                self.has_session = True
                applied = welcome.get(2, 0)
                self.kept = [(number, data) for number, data in self.kept if number > applied]
                self.connection.answered = self.answered
                if self.kept:
                    self.connection.calls(*(data for _, data in self.kept))
                return
            except (Closed, OSError) as error:
                if time.monotonic() >= end:
                    raise TimeoutError("the host does not come back") from error
                time.sleep(0.01)

    def start(self, op, handle, payload=b"", flags=0):
        """Sends a call; its number."""
        self.sequence += 1
        data = call(op, self.sequence, handle, payload, flags)
        return self.post(data)

    def post(self, data):
        self.kept.append((self.sequence, data))
        try:
            self.connection.calls(data)
        except (Closed, OSError):
            self.connect()
        return self.sequence

    def open(self, handle, kind, name):
        self.sequence += 1
        return self.post(open_call(self.sequence, handle, kind, name))

    def take_answers(self):
        """What has arrived; after a break, from a new connection."""
        try:
            for code, _, sequence, payload in self.connection.answers(1):
                self.answers[sequence] = (code, payload)
                self.kept = [kept for kept in self.kept if kept[0] > sequence]
            self.answered = self.connection.answered
        except (Closed, OSError) as error:
            if isinstance(error, TimeoutError):
                raise
            self.answered = self.connection.answered
            self.connect()

    def finish(self, *numbers):
        for number in numbers:
            while number not in self.answers:
                self.take_answers()
        return [self.answers[number] for number in numbers]


def check_content(host, pushed, added):
    """All that was acknowledged is there, once and in order; nothing else is."""
    client = Client(host)
    client.connect()
    client.finish(client.open(1, wire.QUEUE, b"q"), client.open(2, wire.VAR, b"v"))
    found = client.finish(*(client.start(wire.POP, 1) for _ in range(pushed)))
    numbers = [struct.unpack_from("<q", payload)[0] for _, payload in found]
    assert numbers == list(range(1, pushed + 1)), f"{len(numbers)} elements are wrong or in disorder"
    client.connection.calls(call(25, wire.ASKS | 1, 1), call(wire.READ, wire.ASKS | 2, 2))
    answers = client.connection.answers(2)
    assert struct.unpack_from("<Q", answers[0][3])[0] == 0, "there are more elements than were pushed"
    value = struct.unpack_from("<q", answers[1][3], 8)[0]
    assert value == added, f"{value} instead of {added}"
    client.finish(client.start(wire.LEAVE, 0))


def killed(options):
    """Killed with -9 in the middle of traffic, tens of times."""
    random.seed(int(options.get("seed", 1)))
    host = Host(options["program"], WEFT_JOURNAL_REWRITE=options.get("rewrite", "64M"))
    host.start()
    pusher, adder = Client(host), Client(host)
    for client, kind, name in ((pusher, wire.QUEUE, b"q"), (adder, wire.VAR, b"v")):
        client.connect()
        client.finish(client.open(1, kind, name))
    adder.finish(adder.start(wire.CREATE, 1, struct.pack("<q", 0)))
    pushed = added = 0
    for _ in range(int(options.get("kills", 20))):
        due = time.monotonic() + random.random() * 0.1
        while time.monotonic() < due:
            first = pushed
            batch = random.randint(1, 40)
            waiting = []
            for _ in range(batch):
                pushed += 1
                waiting.append(pusher.start(
                    wire.PUSH, 1, struct.pack("<q", pushed) + b"." * random.randint(0, 400)))
            adds = [adder.start(wire.ADD, 1, struct.pack("<q", 1)) for _ in range(batch)]
            added += batch
            if random.random() < 0.1 and time.monotonic() >= due - 0.05:
                break  # killed with all of it in flight
            assert all(code == 0 for code, _ in pusher.finish(*waiting)), first
            adder.finish(*adds)
        host.kill()
        host.start()
    pusher.finish(pusher.sequence)
    adder.finish(adder.sequence)
    host.kill()
    host.start()
    for client in (pusher, adder):
        client.connect()
    check_content(host, pushed, added)
    for client in (pusher, adder):
        client.finish(client.start(wire.LEAVE, 0))
    assert host.stop() == 0, host.said()[-300:]
    print(f"{pushed} pushes, {added} adds")


def push_some(host, count, first=1):
    client = Client(host)
    client.connect()
    client.finish(client.open(1, wire.QUEUE, b"q"), client.open(2, wire.VAR, b"v"))
    client.finish(client.start(wire.CREATE, 2, struct.pack("<q", 0)))
    client.finish(*(client.start(wire.PUSH, 1, struct.pack("<q", number) + b"." * 100)
                    for number in range(first, first + count)))
    client.finish(client.start(wire.LEAVE, 0))


def end_of_records(path):
    """Segments are written ahead with zeros."""
    with open(path, "rb") as file:
        return len(file.read().rstrip(b"\0"))


def flip_bit(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 4]))


def torn(options):
    """The last record was half written: it is cut off, and the rest is there."""
    host = Host(options["program"])
    host.start()
    push_some(host, 50)
    host.kill()
    path = host.segments()[-1]
    flip_bit(path, end_of_records(path) - 1)  # of somebody's goodbye
    host.start()
    check_content(host, 50, 0)
    assert host.stop() == 0


def crc32c(data):
    value = 0xffffffff
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
    return value ^ 0xffffffff


def expect_refusal(host, pattern):
    host.start(waits=False)
    code = host.process.wait(20)
    host.process.stdout.close()
    host.process.stdin.close()
    assert code not in (0, -signal.SIGSEGV, -signal.SIGABRT), code
    assert pattern in host.said(), f"'{pattern}' is not in: {host.said()}"


def newer(options):
    """The journal of a newer version is left alone, with a sentence."""
    host = Host(options["program"])
    host.start()
    push_some(host, 5)
    host.kill()
    path = host.segments()[0]
    with open(path, "r+b") as file:
        header = bytearray(file.read(64))
        header[8:12] = struct.pack("<I", 7)
        header[12:16] = struct.pack("<I", crc32c(header[:12] + header[16:]))
        file.seek(0)
        file.write(header)
    before = os.stat(path).st_size
    expect_refusal(host, "newer weft")
    assert os.stat(path).st_size == before, "it was changed"


def in_use(options):
    """A journal that another process has is not touched."""
    host = Host(options["program"])
    host.start()
    other = Host(options["program"])
    expect_refusal(other, "in use")
    push_some(host, 3)
    check_content(host, 3, 0)
    assert host.stop() == 0


def damaged(options):
    """A flipped bit with sound records behind it: the file and the place, and an end."""
    host = Host(options["program"])
    host.start()
    push_some(host, 200)
    host.kill()
    path = host.segments()[0]
    flip_bit(path, end_of_records(path) // 2)
    expect_refusal(host, os.path.basename(path))


def full(options):
    """The disk is full: nothing is acknowledged, that is said, and it goes on when there is room."""
    host = Host(options["program"], journal=options["journal"])
    host.start()
    client, count = Client(host), 0
    client.connect()
    client.finish(client.open(1, wire.QUEUE, b"q"), client.open(2, wire.VAR, b"v"))
    client.finish(client.start(wire.CREATE, 2, struct.pack("<q", 0)))
    client.connection.socket.settimeout(2)
    client.patience = 2
    try:
        for count in range(1, 10000):
            client.finish(client.start(wire.PUSH, 1, struct.pack("<q", count) + b"." * 1000))
        raise AssertionError("the disk is never full")
    except TimeoutError:
        assert b"cannot write its journal" in client.refused, client.refused
    client.patience = 20
    assert "cannot write the journal" in host.said(), host.said()
    # More than it may gather in memory: it must not take what it cannot keep, nor forget it.
    more = 300
    for number in range(count + 1, count + 1 + more):
        client.sequence += 1
        client.kept.append((client.sequence, call(wire.PUSH, client.sequence, 1,
                                                  struct.pack("<q", number) + b"." * 1000)))
    client.connection.socket.close()
    subprocess.run(options["make_room"].split(), check=True)
    client.connect(60)
    assert all(code == 0 for code, _ in client.finish(client.sequence)), "a call failed"
    assert "can be written again" in host.said(), host.said()
    host.kill()
    host.start()
    check_content(host, count + more, 0)
    client.connect()
    client.finish(client.start(wire.LEAVE, 0))
    assert host.stop() == 0


def stopped(options):
    """A host that stands still for a while does not take for lost who could not reach it meanwhile."""
    host = Host(options["program"], WEFT_SESSION_TTL="1s")
    host.start()
    client = Client(host)
    client.connect()
    client.finish(client.open(1, wire.QUEUE, b"q"))
    client.connection.socket.close()
    time.sleep(0.3)  # it knows that the connection is gone
    host.process.send_signal(signal.SIGSTOP)
    waiting = Connection(nearby(host.port), TOKEN, 10)
    time.sleep(2.5)
    host.process.send_signal(signal.SIGCONT)
    kind, message = waiting.hello(session=client.session, resumes=1, answered=1)
    assert kind == wire.WELCOME, message
    waiting.calls(call(wire.LEAVE, 2))
    waiting.answers(1)
    assert host.stop() == 0


def main():
    options = dict(word.split("=", 1) for word in sys.argv[3:])
    options["program"] = sys.argv[2]
    scenarios = {scenario.__name__: scenario for scenario in (
        killed, torn, newer, in_use, damaged, full, stopped)}
    try:
        scenarios[sys.argv[1]](options)
    except (AssertionError, OSError, Closed) as error:
        print(f"{sys.argv[1]}: {type(error).__name__}: {error}")
        raise


if __name__ == "__main__":
    main()
