#!/usr/bin/env python3
"""cut_link.py SCENARIO program=PATH: two network namespaces as two machines, and the cable between them.

Of examples/count, map/1 is alone on the second machine. As members.py otherwise."""

import os
import subprocess
import sys
import time

import members

HERE, THERE = f"weft{os.getpid()}a", f"weft{os.getpid()}b"
ADDRESSES = {"files/0": ("10.77.0.1", 2222), "reduce/0": ("10.77.0.1", 2223),
             "map/0": ("10.77.0.1", 2224), "map/1": ("10.77.0.2", 2222)}


def ip(words):
    subprocess.run(["ip", *words.split()], check=True, stderr=subprocess.DEVNULL)


def make_machines():
    for name in (HERE, THERE):
        ip(f"netns add {name}")
        ip(f"-n {name} link set lo up")
    ip(f"link add veth0 netns {HERE} type veth peer name veth0 netns {THERE}")
    for number, name in enumerate((HERE, THERE), 1):
        ip(f"-n {name} addr add 10.77.0.{number}/24 dev veth0")
        ip(f"-n {name} link set veth0 up")


class Machines(members.Run):
    """The four members on two machines."""

    def __init__(self, options, **environment):
        super().__init__(options, journal=False, WEFT_TOKEN="00112233445566778899aabbccddeeff",
                         **environment)
        self.cluster = {}
        for member, (host, port) in ADDRESSES.items():
            self.cluster.setdefault(member.split("/")[0], []).append(f"{host}:{port}")

    def prefix(self, member):
        return ["ip", "netns", "exec", THERE if ADDRESSES[member][0].endswith("2") else HERE]

    def begin(self):
        self.start_all()
        self.wait_for("a line of each", lambda: self.text("map/0") and self.text("map/1"))


def set_link(state):
    ip(f"-n {HERE} link set veth0 {state}")


def for_a_while(options):
    """3 s without the other machine: nothing is lost, nobody fails."""
    run = Machines(options)
    run.begin()
    set_link("down")
    time.sleep(3)
    set_link("up")
    run.wait_all()
    run.check_codes()
    run.check_total()
    return run.finish()


def for_good(options):
    """It stays cut: those here end with all that is to be counted, the one there knows why it cannot."""
    run = Machines(options, WEFT_PATIENCE="2s", WEFT_SESSION_TTL="1s")
    run.begin()
    set_link("down")
    run.wait_all()
    run.check_codes([member for member in members.MEMBERS if member != "map/1"])
    run.check_total()
    run.check_codes(["map/1"], members.UNAVAILABLE)
    return run.finish()


def main():
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    try:
        make_machines()
        return 1 if {"for_a_while": for_a_while, "for_good": for_good}[sys.argv[1]](options) else 0
    finally:
        for name in (HERE, THERE):
            subprocess.run(["ip", "netns", "del", name], check=False)


if __name__ == "__main__":
    sys.exit(main())
