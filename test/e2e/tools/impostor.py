#!/usr/bin/env python3
"""impostor.py PORT HOW [COUNT]: sits at the port of a host, has no token, and answers whoever comes.

HOW is a number: the code of a refusal; or one of the other answers below. With COUNT it goes away after
that many connections. By PORT it listens at 127.0.0.1; "unix:PORT" takes the name of the Unix socket
that belongs to this port instead. Prints "ready" when it listens, then a line for each connection."""

import os
import socket
import sys

import wire

ALERTS = {"alert": 51, "close-notify": 0, "unknown-key": 115, "handshake-failure": 40}


def answer(how):
    if how in ALERTS:
        return bytes([21, 3, 3, 0, 2, 1 if how == "close-notify" else 2, ALERTS[how]])
    words = {
        "garbage": os.urandom(300),
        "http": b"HTTP/1.1 200 OK\r\n\r\n",
        "welcome": wire.frame(wire.WELCOME, wire.field(1, 7)),
        "answers": wire.frame(wire.ANSWERS, b"\x10\0\0\0\x0b\0\0\0\1\0\0\0\0\0\0\0"),
        "challenge": wire.frame(wire.CHALLENGE, wire.field(1, os.urandom(32)) + wire.field(2, os.urandom(32))),
        "nothing": b"",
    }
    if how in words:
        return words[how]
    return wire.frame(wire.REFUSED, wire.field(1, int(how)) + wire.field(2, "the queue\x1b[2J has ended"))


def listen(where):
    if where.startswith("unix:"):
        server = socket.socket(socket.AF_UNIX)
        server.bind(f"\0weft-{os.environ.get('SQUAT_UID', os.geteuid())}-{where[5:]}")
    else:
        server = socket.socket()
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", int(where)))
    server.listen()
    return server


def main():
    how, left = sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else -1
    server = listen(sys.argv[1])
    print("ready", flush=True)
    while left != 0:
        connection, _ = server.accept()
        left -= 1
        print("met", flush=True)
        connection.settimeout(2)
        try:
            connection.recv(1 << 16)
            connection.sendall(answer(how))
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass
        connection.close()


if __name__ == "__main__":
    main()
