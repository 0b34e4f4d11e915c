#!/usr/bin/env python3
"""hostile_peer.py client HOST:PORT TOKEN SEED COUNT, or hostile_peer.py server PORT TOKEN SEED COUNT

A peer of a job that has the token and keeps to nothing else: as COUNT clients, one after the other, of a server; or as a server that COUNT
clients meet, one after the other. Both speak by the Unix socket of their own user, prove themselves, and then send frames that are drawn from SEED: of
types of a job, with fields that may be there, numbers that are at limits, and bytes that mean nothing. A server prints "ready" when it listens."""
import hashlib
import hmac
import os
import platform
import random
import socket
import struct
import sys

import wire

NUMBERED, SESSION, FETCH, LINE, RELAY = 39, 1, 2, 3, 4
JOIN, START = 48, 49
TO_SERVER = [JOIN, 50, 52, 53, 54, 56, 57, 61, 62, 65, 1, 5, 7, 8, 9, 10, 13, 15]
TO_CLIENT = [START, 51, 55, 58, 60, 63, 64, 66, 44, 2, 3, 4, 4, 6, 11, 12, 14, 16, 17]
LIMITS = [0, 1, 2, 7, 127, 128, 1023, 1024, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1]


def draw_message(draw, depth=0):
    """A protobuf message with fields of any kind, some of which are those that the frame has."""
    message = b""
    for _ in range(draw.randrange(9)):
        number, kind = draw.randrange(1, 24), draw.randrange(5)
        if kind == 0:
            message += wire.field(number, draw.choice(LIMITS))
        elif kind == 1:
            message += wire.varint(number << 3 | 1) + struct.pack("<Q", draw.choice(LIMITS))
        elif kind == 2 and depth < 3:
            message += wire.field(number, draw_message(draw, depth + 1))
        elif kind == 3:
            message += wire.field(number, draw.choice(["wordcount", "../../x", "/dev/zero", "a" * 300, "x86_64", "localhost:1", "\x1b[2J"]))
        else:
            message += wire.field(number, draw.randbytes(draw.choice([1, 8, 16, 32, 100, 5000])))
    return message


def numbered(sequence, received, kind, payload):
    return wire.frame(NUMBERED, struct.pack("<QQI", received, sequence, kind) + payload)


def draw_frame(draw, sequence, kinds):
    kind = draw.randrange(12)
    if kind == 0:
        return wire.frame(draw.randrange(120), draw.randbytes(draw.randrange(200)))
    if kind == 1:
        return wire.frame(NUMBERED, draw.randbytes(draw.randrange(64)))
    if kind == 2:
        return numbered(draw.choice(LIMITS), draw.choice(LIMITS), draw.choice(kinds), b"")
    payload = draw_message(draw) if kind > 3 else draw.randbytes(draw.randrange(300))
    return numbered(sequence, 0, draw.choice(kinds), payload)


def join_message():
    return (wire.field(1, 1) + wire.field(2, 1 << 30) + wire.field(3, 9) + wire.field(4, "hostile") + wire.field(5, 77) +
            wire.varint(6 << 3 | 1) + struct.pack("<Q", 5))


def be_client(address, token, draw):
    connection = wire.Connection(wire.nearby(address.rsplit(":", 1)[1]), token, timeout=5)
    purpose = draw.choice([SESSION] * 6 + [FETCH, LINE, RELAY])
    try:
        kind, _ = connection.hello(purpose=purpose, architecture=platform.machine())
        if kind != wire.WELCOME:
            return
        sequence = 1
        if purpose == SESSION and draw.randrange(4):
            connection.send(numbered(1, 0, JOIN, join_message()))
            sequence = 2
        for sequence in range(sequence, sequence + draw.randrange(1, 30)):
            connection.send(draw_frame(draw, sequence, TO_SERVER) if purpose == SESSION else
                            wire.frame(draw.randrange(39, 47), draw.randbytes(draw.randrange(80))))
        connection.is_dropped(0.2)
    except (wire.Closed, OSError):
        pass
    connection.socket.close()


def serve_one(connection, token, draw):
    kind, hello = connection.receive()
    assert kind == wire.HELLO, kind
    nonce, ours = wire.fields(hello)[9], os.urandom(32)
    proof = hmac.new(token, b"weft host 1" + nonce + ours + hello, hashlib.sha256).digest()
    connection.send(wire.frame(wire.CHALLENGE, wire.field(1, ours) + wire.field(2, proof)))
    assert connection.receive()[0] == wire.PROOF
    connection.send(wire.frame(wire.WELCOME, wire.field(1, 7)))
    for sequence in range(1, draw.randrange(2, 40)):
        connection.send(draw_frame(draw, sequence, TO_CLIENT))
    connection.is_dropped(1)


def main():
    side, where, token, seed, count = sys.argv[1], sys.argv[2], bytes.fromhex(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    if side == "client":
        for number in range(count):
            be_client(where, token, random.Random(seed + number))
        return
    server = socket.socket(socket.AF_UNIX)
    server.bind(wire.nearby(where))
    server.listen()
    print("ready", flush=True)
    number = 0
    while number < count:
        connection = wire.Connection.__new__(wire.Connection)
        connection.socket, _ = server.accept()
        connection.socket.settimeout(5)
        connection.token, connection.buffer, connection.answered = token, b"", 0
        try:
            serve_one(connection, token, random.Random(seed + number))
        except (wire.Closed, OSError, AssertionError, KeyError):
            pass
        number += 1
        connection.socket.close()


main()
