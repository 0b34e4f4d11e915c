#!/usr/bin/env python3
"""hostile.py ATTACK HOST:PORT TOKEN PID: does what no member does to a host, and looks how it takes it.

TOKEN is in hexadecimal; PID is the host's process. Exits 0 when the host did as it should: says what is
wrong otherwise. A user's own processes come by the Unix socket, strangers by TCP, where the host speaks TLS."""

import os
import socket
import struct
import sys
import time

import wire
from wire import Closed, Connection, call, frame, open_call

UNAVAILABLE, UNAUTHENTICATED, PRECONDITION, DATA_LOSS, EXHAUSTED = 14, 16, 9, 15, 8
SLACK = int(os.environ.get("HOSTILE_SLACK", "1"))  # a sanitizer keeps what was freed for a while
ABORTED, INVALID = 10, 3


class Target:
    """The host under attack."""

    def __init__(self, address, token, pid):
        host, port = address.rsplit(":", 1)
        self.address, self.token, self.pid = (host, int(port)), bytes.fromhex(token), int(pid)
        self.nearby = f"\0weft-{os.stat(f'/proc/{pid}').st_uid}-{port}"

    def connect(self, token=None, timeout=20):
        return Connection(self.nearby, self.token if token is None else token, timeout)

    def connect_as_stranger(self, timeout=20):
        return Connection(self.address, b"", timeout)

    def join(self, tries=1, **hello):
        connection = self.connect()
        try:
            kind, welcome = connection.hello(**hello)
        except Closed:
            if tries == 1:
                raise
            time.sleep(0.1)
            return self.join(tries - 1, **hello)
        assert kind == wire.WELCOME, (kind, welcome)
        return connection

    def memory(self):
        """Its memory, in MiB."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmRSS"):
                    return int(line.split()[1]) / 1024
        raise AssertionError("the host is gone")

    def check_alive(self, tries=1):
        """It serves others as before. The sockets have a limit of time, for a host that hangs; no time is compared.

        Where hundreds come at once, the host drops the oldest that have not proven themselves, before it reads what they
        say: that can be us. Like a member, we come again then, for which TRIES is more than 1."""
        connection = self.join(tries)
        connection.calls(open_call(1, 1, name=os.urandom(8).hex().encode()),
                         call(wire.PUSH, 2, 1, b"x"), call(wire.POP, 3, 1))
        answers = connection.answers(3)
        assert [answer[0] for answer in answers] == [0, 0, 0], answers
        assert answers[2][3] == b"x", answers
        connection.calls(call(wire.LEAVE, 4))
        connection.answers(1)


def refused(kind, message, code):
    assert kind == wire.REFUSED and message.get(1) == code, (kind, message)


# ---- Before the proof ------------------------------------------------------------------------------


def wrong_token(target):
    """A client with another token, one without any, one that lies."""
    for token in (os.urandom(16), b""):
        connection = target.connect(token=token)
        refused(*connection.hello(), UNAUTHENTICATED)
        assert connection.is_dropped(15)
    connection = target.connect()
    refused(*connection.hello(proves=False), UNAUTHENTICATED)


def other_versions(target):
    """Older and newer ones are told which version is here."""
    for version in (0, 2, 99, 1 << 31):
        kind, message = target.connect().hello(version=version)
        refused(kind, message, PRECONDITION)
        assert b"wire version" in message[2], message
    refused(*target.connect().hello(host="/other/7"), PRECONDITION)


def garbage(target):
    """What is no frame, and frames that make no sense."""
    texts = [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 4096, os.urandom(4096), b"\xff" * 64,
             b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(501),  # TLS's first words
             b"\x16\x03\x01\x3f\xff\x01\x02\x00\x00" + b"\0" * 20000]  # and those of a long speech
    texts += [frame(wire.HELLO, os.urandom(200)), frame(wire.PROOF, b""), frame(wire.CALLS, b"\0" * 64),
              frame(wire.HELLO, b"", size=0xffffffff), frame(wire.HELLO, b"x" * 5000),
              frame(wire.HELLO, wire.field(1, 1) + wire.field(5, b"short")), frame(200, b"")]
    for text, connect in ((text, by) for text in texts for by in (target.connect, target.connect_as_stranger)):
        connection = connect()
        try:
            connection.send(text)
        except Closed:
            continue
        assert connection.is_dropped(15), text[:20]


def silent(target):
    """So many connections that say nothing, or a byte a second, and it still answers others."""
    before = target.memory()
    connections = []
    for number in range(int(os.environ.get("HOSTILE_COUNT", "3000"))):
        try:
            connections.append((target.connect, target.connect_as_stranger)[number % 2](timeout=5))
        except OSError:
            break
        if number % 500 == 0:
            target.check_alive(tries=20)
    target.check_alive(tries=20)
    slow = target.connect()
    dropped = False
    hello = frame(wire.HELLO, b"\x08\x01" * 50)
    for byte in hello[:14]:
        try:
            slow.send(bytes([byte]))
        except Closed:
            dropped = True
            break
        time.sleep(1)
    assert dropped or slow.is_dropped(1), "a byte a second is enough to stay"
    assert connections[0].is_dropped(1) and connections[-1].is_dropped(15), "they may stay"
    grown = target.memory() - before
    assert grown < 100, f"{grown:.0f} MiB for nothing"


def strangers(target):
    """Strangers who say as much as they may, and not the end of it: none costs more than it has said, by much."""
    first = target.connect_as_stranger()  # for it, OpenSSL is loaded once for all
    first.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(506))
    assert first.is_dropped(5)
    target.check_alive(tries=20)
    before, connections = target.memory(), []
    first_words = {
        "half a client hello": b"\x16\x03\x01\x0f\xf0\x01\x00\x0f\xec\x03\x03" + os.urandom(4070),
        "a long record": b"\x16\x03\x01\x40\x00\x01\x01\xff\xff\x03\x03" + os.urandom(16000),
        "a hello in pieces": b"\x16\x03\x01\x01\x00\x01\x01\xff\xff\x03\x03" + b"\x05" * 250,
        "frames": frame(wire.HELLO, b"\x08\x01" * 2000, size=4096) + os.urandom(60000),
    }
    for words in first_words.values():
        for _ in range(400):
            connection = target.connect_as_stranger(timeout=5)
            connections.append(connection)
            try:
                connection.socket.setblocking(False)
                connection.socket.send(words)
            except OSError:
                pass
        target.check_alive(tries=20)
    grown = (target.memory() - before) * 1024
    limit = 1024 * 8 * SLACK  # of DOOR_STRANGERS_MAX strangers: 4 KiB each, and as much for the rest of a connection
    print(f"strangers: {grown:.0f} KiB, at most {limit}")
    assert grown < limit, "that is too much"


def cut_hello(target):
    """It goes away in the middle of its hello, again and again."""
    for _ in range(300):
        connection = target.connect()
        connection.send(frame(wire.HELLO, b"\x08\x01", size=100))
        connection.socket.close()


# ---- Behind it -------------------------------------------------------------------------------------


def broken_rules(target):
    """A member that was let in and breaks the rules is dropped, and its session lives on."""
    head = struct.pack("<Q", 0)
    breaks = [
        frame(wire.CALLS, b"\0" * 4),                                     # cut
        frame(wire.CALLS, head + call(99, 1)),                            # no such operation
        frame(wire.CALLS, head + call(wire.PUSH, 1 | wire.ASKS)),         # a change that asks
        frame(wire.CALLS, head + call(wire.PING, 1)),                     # a question that changes
        frame(wire.CALLS, head + call(wire.PUSH, 0)),
        frame(wire.CALLS, head + call(wire.PUSH, 1, size=15)),
        frame(wire.CALLS, head + call(wire.PUSH, 1, size=1 << 30)),
        frame(wire.CALLS, b"", size=(64 << 20) + 1),                      # too large
        frame(wire.HELLO, b""), frame(wire.ANSWERS, b""), frame(77, b""),
    ]
    for text in breaks:
        connection = target.join()
        connection.send(text)
        assert connection.is_dropped(5), text[:40]
        again = target.connect()
        assert again.hello(session=connection.session, resumes=1)[0] == wire.WELCOME


def senseless_calls(target):
    """Calls that are sound and make no sense are answered, not obeyed."""
    connection = target.join()
    connection.calls(
        call(wire.PUSH, 1, 5, b"x"),                                      # a handle nobody opened
        open_call(2, 1), open_call(3, 1),                                 # one that is in use
        open_call(4, 2, kind=9), open_call(5, 3, name=b"n" * 2000),
        call(wire.DONE, 6, 1, os.urandom(24)), call(wire.DONE, 7, 1, b""),
        call(wire.POP_MANY, 8, 1, b"\xff\xff\xff\xff"), call(wire.PUSH_MANY, 9, 1, b"\xff\xff\xff\xff"),
        call(wire.READ, wire.ASKS | 1, 1), call(wire.CANCEL, 10, 0, b"12345678"),
        call(wire.OPEN, 11, 4, b"\x01\xff\xff"))
    answers = {answer[2]: answer[0] for answer in connection.answers(12)}
    assert answers[2] == answers[10] == 0, answers
    wrong = [number for number, code in answers.items() if number not in (2, 10) and code == 0]
    assert not wrong, answers


def sequence_games(target):
    """Numbers again, in any order, far ahead: each is done at most once, and none is left out."""
    connection = target.join()
    name = os.urandom(8).hex().encode()
    connection.calls(open_call(1, 1, kind=wire.VAR, name=name),
                     call(wire.CREATE, 2, 1, struct.pack("<q", 0)))
    connection.answers(2)
    add = struct.pack("<q", 1)
    connection.calls(call(wire.ADD, 3, 1, add), call(wire.ADD, 3, 1, add), call(wire.ADD, 1, 1, add),
                     call(wire.READ, wire.ASKS | 1, 1))
    answers = connection.answers(2)
    assert [answer[2] for answer in answers] == [3, wire.ASKS | 1], answers
    assert struct.unpack_from("<q", answers[1][3], 8)[0] == 1, answers
    connection.calls(call(wire.ADD, 1 << 62, 1, add), call(wire.ADD, 4, 1, add))
    try:
        connection.answers(1)
        raise AssertionError("a call was done though others are missing before it")
    except Closed:
        pass
    # It says to have what it never got, as one would who comes to an older journal.
    kind, refusal = target.connect().hello(session=connection.session, resumes=1, answered=1 << 63)
    assert kind == wire.REFUSED and refusal[1] == 15, (kind, refusal)
    again = target.connect()
    kind, _ = again.hello(session=connection.session, resumes=1, answered=3)
    assert kind == wire.WELCOME
    again.calls(call(wire.READ, wire.ASKS | 2, 1), call(wire.ADD, 4, 1, add), answered=1 << 60)
    assert struct.unpack_from("<q", again.answers(1)[0][3], 8)[0] == 1


def reads_nothing(target):
    """It asks and asks and takes no answer: the host stops reading, or drops it."""
    before = target.memory()
    connections = []
    for _ in range(4):
        connection = target.join()
        connection.calls(open_call(1, 1, kind=wire.VAR, name=b"big", attributes=b"\x07\0"),
                         call(wire.SET, 2, 1, b"v" * (1 << 20)))
        connection.answers(2)
        connection.socket.setblocking(False)
        connections.append(connection)
    asks = frame(wire.CALLS, struct.pack("<Q", 2) + b"".join(
        call(wire.READ, wire.ASKS | (number + 1), 1) for number in range(20000)))
    end = time.monotonic() + 4
    left = {connection: asks for connection in connections}
    while time.monotonic() < end and left:
        for connection in list(left):
            try:
                sent = connection.socket.send(left[connection])
                left[connection] = left[connection][sent:] or asks
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:
                del left[connection]
    grown = target.memory() - before
    assert grown < 700 * SLACK, f"{grown:.0f} MiB of answers that nobody takes"


def never_acknowledges(target):
    """It takes its answers and never says so: they are not kept without end."""
    before = target.memory()
    connection = target.join()
    connection.calls(open_call(1, 1, kind=wire.VAR, name=b"kept", attributes=b"\x07\0"),
                     call(wire.SET, 2, 1, b"v" * (256 << 10)))
    connection.answers(2)
    dropped = False
    for number in range(3, 3000):
        try:  # again and again what is as it is: each answer has the value
            connection.calls(call(wire.CREATE, number, 1, b"w"), answered=0)
            connection.answers(1)
        except Closed:
            dropped = True
            break
    assert dropped, f"{target.memory() - before:.0f} MiB are kept for it"


def session_flood(target):
    """Sessions without end: refused above the limit, gone when their time is over."""
    before, refusals = target.memory(), 0
    count = int(os.environ.get("HOSTILE_SESSIONS", "3000"))
    for number in range(count):
        connection = target.connect()
        kind, message = connection.hello(member=f"/flood/{number}")
        refusals += kind == wire.REFUSED and message.get(1) == EXHAUSTED
        connection.socket.close()
    if count > 65536:
        assert refusals > 0, "no limit"
    grown = target.memory() - before
    assert grown < (20 + count / 200) * SLACK, f"{grown:.0f} MiB for {count} sessions"
    kind, message = target.connect().hello(member="/\x1b[31mred\n")
    refused(kind, message, INVALID)


def stolen_session(target):
    """The number of a session alone opens nothing without the token."""
    owner = target.join(member="/owner/0")
    refused(*target.connect(token=os.urandom(16)).hello(session=owner.session, resumes=1),
            UNAUTHENTICATED)
    owner.calls(call(wire.PING, wire.ASKS | 1))
    assert owner.answers(1)[0][0] == 0, "the owner was dropped"
    kind, message = target.connect().hello(session=os.urandom(16), resumes=1, epoch=1)
    refused(kind, message, ABORTED)


def plain_on_tls(target):
    """Where TLS is spoken, a plain client gets no further than its first words."""
    connection = target.connect_as_stranger()
    try:
        connection.hello()
        raise AssertionError("it was answered")
    except Closed:
        pass


def other_user(target):
    """Another user of this machine: the Unix socket sends it away, TCP wants the token."""
    with socket.socket(socket.AF_UNIX) as local:
        local.settimeout(10)
        local.connect(target.nearby)
        try:
            local.sendall(frame(wire.HELLO, b"\x08\x01"))
            assert local.recv(100) == b"", "it was answered"
        except (BrokenPipeError, ConnectionResetError):
            pass
    plain_on_tls(target)


def alive(target):
    """Nothing; only whether it serves."""
    target.check_alive()


def main():
    attacks = {attack.__name__: attack for attack in (
        wrong_token, other_versions, garbage, silent, strangers, cut_hello, broken_rules, senseless_calls,
        sequence_games, reads_nothing, never_acknowledges, session_flood, stolen_session,
        plain_on_tls, other_user, alive)}
    target = Target(*sys.argv[2:5])
    try:
        attacks[sys.argv[1]](target)
        if sys.argv[1] not in ("plain_on_tls", "other_user"):
            target.check_alive()
    except (AssertionError, OSError, Closed) as error:
        print(f"{sys.argv[1]}: {type(error).__name__}: {error}")
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
