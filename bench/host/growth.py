"""How the rates change with clients, with the size of elements, with how many are stored."""
from .servers import Weft
from .table import Table

IN_FLIGHT = 64
COLUMNS = ["push", "pop", "push by TLS", "pop by TLS"]
MB = 1_000_000


def load_both(clients, size, seconds, by):
    """Pushes and pops per second."""
    with Weft(by=by) as server:
        return server.load("both", clients, IN_FLIGHT, seconds, size)


def by_clients(rounds, seconds):
    table = Table("By clients: calls per second, 64 on the way of each", COLUMNS)
    for clients in (1, 2, 4, 8, 16, 32, 64):
        table.row(str(clients), rounds, {
            ("push", "pop"): lambda: load_both(clients, 100, seconds, "unix"),
            ("push by TLS", "pop by TLS"): lambda: load_both(clients, 100, seconds, "tls")})


def by_size(rounds, seconds):
    in_bytes = {column: f"{column}, MB/s" for column in COLUMNS}
    table = Table("By size of the elements: one client, 64 on the way", [*COLUMNS, *in_bytes.values()])

    def load(size, by):
        rates = load_both(1, size, seconds, by)
        return [*rates, *(rate * size / MB for rate in rates)]
    for size, words in ((10, "10 B"), (100, "100 B"), (1 << 10, "1 KiB"), (10 << 10, "10 KiB"),
                        (100 << 10, "100 KiB"), (1 << 20, "1 MiB")):
        table.row(words, rounds, {
            ("push", "pop", in_bytes["push"], in_bytes["pop"]): lambda: load(size, "unix"),
            ("push by TLS", "pop by TLS", in_bytes["push by TLS"], in_bytes["pop by TLS"]):
                lambda: load(size, "tls")})


def by_stored(rounds, seconds):
    table = Table("By elements stored: push and pop in turn, calls per second, 1x64", ["Unix socket", "TLS"])

    def measure(by, stored):
        with Weft(by=by) as server:
            return server.load("mix", 1, IN_FLIGHT, seconds, 100, stored)[0]
    for power in (0, 3, 4, 5, 6, 7):
        stored = 10 ** power if power else 0
        table.row(f"{stored:,}", rounds, {"Unix socket": lambda: measure("unix", stored),
                                          "TLS": lambda: measure("tls", stored)})


def all_of_it(rounds, seconds):
    by_clients(rounds, seconds)
    by_size(rounds, seconds)
    by_stored(rounds, seconds)
