"""Calls of clients at a host: against Redis, against a bare echo, over three kinds of connections."""
import os

from . import place
from .servers import Redis, Weft
from .table import Ratio, Table

ASK_BYTES, ANSWER_BYTES = 132, 24  # of a push of 100 bytes on the wire, and of what it is answered
SLEEPS = {"WEFT_SPIN_US": "0"}
OPERATIONS = (("push", "push, LPUSH"), ("mix", "push and pop, RPOP"), ("add", "add, INCR"))
WANTED = {(1, 1): 2, (1, 64): 2, (16, 64): 3}


def weft_rate(*load, **setup):
    with Weft(**setup) as server:
        return server.load(*load)[0]


def weft_median(*load, **setup):
    with Weft(**setup) as server:
        return server.load(*load)[1]


def redis_rate(*load, journal=False):
    with Redis(journal) as server:
        return server.load(*load)


def redis(rounds, seconds):
    table = Table("Calls per second, against Redis", ["weft", "Redis"], [Ratio("weft", "Redis")])

    def row(name, load, journal, wanted):
        table.row(name, rounds, {"weft": lambda: weft_rate(*load, seconds, journal=journal),
                                 "Redis": lambda: redis_rate(*load, seconds, journal=journal)},
                  [Ratio("weft", "Redis", wanted)])

    for clients, in_flight in ((1, 1), (1, 64), (16, 1), (16, 64)):
        for operation, words in OPERATIONS:
            row(f"{words}, {clients}x{in_flight}", (operation, clients, in_flight), False,
                WANTED.get((clients, in_flight)))
    for clients, in_flight, wanted in ((1, 1, 1), (1, 64, None), (16, 64, 3)):
        row(f"push on disk, LPUSH appendfsync always, {clients}x{in_flight}", ("push", clients, in_flight), True,
            wanted)


def latency(rounds, seconds):
    """Bound to cores: who shares one with whom decides more than anything else, and would be left to chance."""
    table = Table("One call in flight, without spinning: median, microseconds", ["weft", "echo"],
                  [Ratio("weft", "echo", 1.1, at_most=True)])
    first, *_, last = sorted(os.sched_getaffinity(0))
    for by, words in (("unix", "Unix socket"), ("tcp", "TLS on loopback, echo over TCP")):
        for cores, where in (((first, last), "two cores"), ((first, first), "one core")):
            table.row(f"push, {words}, {where}", rounds, {
                "weft": lambda: weft_median("push", 1, 1, seconds, by=by, cores=cores, **SLEEPS),
                "echo": lambda: place.run("echo", by, ASK_BYTES, ANSWER_BYTES, seconds, *cores)[1]})


def transport(rounds, seconds):
    table = Table("Calls per second, by transport", ["Unix socket", "TLS on loopback", "TLS"],
                  [Ratio("Unix socket", "TLS on loopback", 1.3)])
    ways = {"Unix socket": "unix", "TLS on loopback": "tcp", "TLS": "tls"}
    for clients, in_flight in ((1, 1), (1, 64), (16, 1), (16, 64)):
        for operation, words in (("push", "push"), ("mix", "push and pop")):
            load = (operation, clients, in_flight, seconds)
            table.row(f"{words}, {clients}x{in_flight}", rounds,
                      {way: lambda by=by, load=load: weft_rate(*load, by=by) for way, by in ways.items()})
    table.row("push, 1x1, without spinning", rounds,
              {way: lambda by=by: weft_rate("push", 1, 1, seconds, by=by, **SLEEPS)
               for way, by in ways.items()})
