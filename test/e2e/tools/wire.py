"""The wire between members and hosts as a stranger would write it: sockets, frames, the hello, calls.

Only for tests: it says what it is told to say, whether that is right or not."""

import hashlib
import hmac
import os
import socket
import struct

HELLO, CHALLENGE, PROOF, WELCOME, REFUSED, CALLS, ANSWERS = range(32, 39)
ASKS = 1 << 63
OPEN, REMOVE, CANCEL, LEAVE, LIST, PING = 1, 2, 3, 4, 5, 6
PUSH, PUSH_MANY, POP, POP_MANY, TAKE, DONE = 16, 17, 18, 19, 20, 21
READ, SET, CREATE, ADD = 32, 33, 34, 35
QUEUE, VAR = 1, 2


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One field of a protobuf message, left out when it is what it would be anyway."""
    if not value:
        return b""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(message):
    """The fields of a message: {number: value}."""
    found, at = {}, 0

    def read():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(message):
        key = read()
        if key & 7 == 0:
            found[key >> 3] = read()
        elif key & 7 == 1:
            found[key >> 3] = int.from_bytes(message[at:at + 8], "little")
            at += 8
        else:
            assert key & 7 == 2, f"a field of wire type {key & 7}"
            size = read()
            found[key >> 3] = message[at:at + size]
            at += size
    return found


def frame(kind, payload, size=None):
    return struct.pack("<IB3x", len(payload) if size is None else size, kind) + payload


def call(op, sequence, handle=0, payload=b"", flags=0, size=None):
    return struct.pack("<IBBHQ", 16 + len(payload) if size is None else size, op, flags, handle,
                       sequence) + payload


def open_call(sequence, handle, kind=QUEUE, name=b"q", attributes=b""):
    return call(OPEN, sequence, handle,
                bytes([kind]) + struct.pack("<HH", 0, len(name)) + name + attributes)


def nearby(port):
    """The name of the Unix socket by which processes of our own user reach the host at this port."""
    return f"\0weft-{os.geteuid()}-{port}"


class Closed(Exception):
    """The host has ended the connection."""


class Connection:
    """A client of a host, as far as it was taken."""

    def __init__(self, address, token=b"", timeout=20):
        """By TCP to (host, port), or to the Unix socket of that name; a host speaks TLS on TCP, and we do not."""
        if isinstance(address, str):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(address)
        else:
            self.socket = socket.create_connection(address, timeout)
        self.token, self.buffer, self.answered = token, b"", 0

    def send(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed from error

    def receive(self):
        """The next frame: its type and payload."""
        while len(self.buffer) < 8 or len(self.buffer) < 8 + struct.unpack_from("<I", self.buffer)[0]:
            try:
                data = self.socket.recv(1 << 20)
            except ConnectionResetError as error:
                raise Closed from error
            if not data:
                raise Closed
            self.buffer += data
        size = struct.unpack_from("<I", self.buffer)[0]
        kind, payload = self.buffer[4], self.buffer[8:8 + size]
        self.buffer = self.buffer[8 + size:]
        return kind, payload

    def is_dropped(self, seconds):
        """Whether the host ends the connection in that time; what it still says is thrown away."""
        self.socket.settimeout(seconds)
        try:
            while True:
                self.receive()
        except (Closed, OSError) as error:
            return isinstance(error, Closed)

    def hello(self, session=None, version=1, member="", incarnation=1, host="", proves=True,
              resumes=0, epoch=0, answered=0, purpose=0, architecture=""):
        """Says hello; the type of the host's last frame and its fields."""
        self.session = session or os.urandom(16)
        nonce = os.urandom(32)
        hello = (field(1, version) + field(2, "test") + field(3, member) + field(4, incarnation)
                 + field(5, self.session) + field(6, epoch) + field(7, resumes)
                 + field(8, answered) + field(9, nonce) + field(10, host) + field(15, purpose)
                 + field(16, architecture))
        self.send(frame(HELLO, hello))
        kind, payload = self.receive()
        if kind != CHALLENGE:
            return kind, fields(payload)
        theirs = fields(payload)[1]
        proof = hmac.new(self.token, b"weft member 1" + nonce + theirs + hello,
                         hashlib.sha256).digest()
        self.send(frame(PROOF, field(1, proof if proves else os.urandom(32))))
        kind, payload = self.receive()
        return kind, fields(payload)

    def calls(self, *calls, answered=None):
        self.send(frame(CALLS, struct.pack("<Q", self.answered if answered is None else answered)
                        + b"".join(calls)))

    def answers(self, count):
        """So many answers: [(code, flags, sequence, payload)]."""
        found = []
        while len(found) < count:
            kind, payload = self.receive()
            assert kind == ANSWERS, kind
            while payload:
                size, code, flags, _, sequence = struct.unpack_from("<IBBHQ", payload)
                found.append((code, flags, sequence, payload[16:size]))
                self.answered += 1 if flags & 128 else 0
                payload = payload[size:]
        return found
