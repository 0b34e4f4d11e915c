#!/usr/bin/env python3
"""relay.py PORT HOST_PORT HOW: stands between clients and a host, both at 127.0.0.1, without the token.

HOW: "pass"; "swap FROM TO", both of one length, in what clients send; "flip N": changes one bit of one piece
in N, either way; "record FILE": keeps what the first client sends, in pieces; "replay FILE": says that to the
host in its own name, piece by piece, prints what the host answers to it, and ends. Prints "ready" when it listens."""

import json
import random
import socket
import sys
import threading


class Relay:
    """What is done to the bytes that pass."""

    def __init__(self, how):
        self.how, self.random, self.recorded, self.lock = how, random.Random(1), [], threading.Lock()

    def change(self, data, is_from_client, is_first):
        with self.lock:
            if self.how[0] == "swap" and is_from_client:
                return data.replace(self.how[1].encode(), self.how[2].encode())
            if self.how[0] == "flip" and self.random.randrange(int(self.how[1])) == 0:
                at = self.random.randrange(len(data))
                return data[:at] + bytes([data[at] ^ 1 << self.random.randrange(8)]) + data[at + 1:]
            if self.how[0] == "record" and is_from_client and is_first:
                self.recorded.append(data.hex())
                with open(self.how[1], "w", encoding="ascii") as file:
                    json.dump(self.recorded, file)
        return data

    def carry(self, source, target, is_from_client, is_first):
        try:
            while data := source.recv(1 << 16):
                target.sendall(self.change(data, is_from_client, is_first))
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def replay(port, pieces):
    with socket.create_connection(("127.0.0.1", port), 3) as host:
        try:
            for piece in pieces:
                host.sendall(bytes.fromhex(piece))
                print("answered", len(host.recv(1 << 16)), flush=True)
        except OSError as error:
            print("ended", type(error).__name__, flush=True)


def main():
    port, host_port, how = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if how[0] == "replay":
        with open(how[1], encoding="ascii") as file:
            replay(host_port, json.load(file))
        return
    relay, is_first = Relay(how), True
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen()
    print("ready", flush=True)
    while True:
        client, _ = server.accept()
        try:
            host = socket.create_connection(("127.0.0.1", host_port), 3)
        except OSError:
            client.close()
            continue
        for ends in ((client, host, True), (host, client, False)):
            threading.Thread(target=relay.carry, args=(*ends, is_first), daemon=True).start()
        is_first = False


if __name__ == "__main__":
    main()
