"""Pipes and work queues: against ZeroMQ, Redis's BRPOP, RabbitMQ, and TensorFlow as it was recorded."""
import contextlib
import shutil

from . import place
from .servers import Rabbit, Redis
from .table import Ratio, Table

# Of real TensorFlow 2.21 with one step on its way, measured once and elsewhere: not in these rounds.
TENSORFLOW_STEPS = 1400


def ports(count):
    return ",".join(map(str, place.free_ports(count)))


def redis_pipe(*arguments):
    with Redis() as server:
        return place.run("pipe_redis", server.port, *arguments)[0]


class Rabbits:
    """One RabbitMQ for a whole table, started when it is first wanted: that takes it seconds. If it does not start, it
    is absent from then on."""

    def __init__(self):
        self.stack, self.server = contextlib.ExitStack(), None

    def port(self):
        if not self.server:
            try:
                self.server = self.stack.enter_context(Rabbit())
            except place.Failed as failure:
                place.failures.append(failure)
                raise place.Absent(failure) from failure
        return self.server.port

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()


def pipe(rounds, seconds):
    wanted = {1: (None, 1.8), 64: (1, 10)}
    columns = ["weft", "weft, in the producer", "weft, popped", "ZeroMQ", "BRPOP", "RabbitMQ"]
    table = Table("One producer, two blocking consumers: elements per second", columns,
                  [Ratio("weft", "ZeroMQ"), Ratio("weft", "BRPOP"), Ratio("weft, in the producer", "weft")])
    with Rabbits() as rabbits:
        for acks in ((), ("acks",)):
            for window in (1, 64):
                load = (window, seconds, *acks)
                measures = {
                    "weft": lambda load=load: place.run("pipe_weft", ports(4), *load)[0],
                    "weft, in the producer": lambda load=load: place.run("pipe_weft", ports(4), *load, "here")[0],
                    "weft, popped": lambda load=load: place.run("pipe_weft", ports(4), *load, PIPE_POPS="1")[0],
                    "ZeroMQ": lambda load=load: place.run("pipe_zmq", ports(1), *load)[0],
                    "BRPOP": lambda load=load: redis_pipe(*load),
                    "RabbitMQ": lambda load=load: place.run("pipe_amqp", rabbits.port(), *load)[0]}
                if acks:  # nobody acknowledges there
                    del measures["ZeroMQ"]
                what = "unacknowledged" if acks else "not consumed"
                table.row(f"window {window}, {what}", rounds, measures,
                          [Ratio("weft", "ZeroMQ", wanted[window][0]), Ratio("weft", "BRPOP", wanted[window][1]),
                           Ratio("weft, in the producer", "weft")])


def weft_work(what, window, seconds, is_kept):
    journal = place.CACHE / "work-journal"
    shutil.rmtree(journal, ignore_errors=True)
    try:
        return place.run("work_weft", what, ports(2), window, seconds, *(["kept"] if is_kept else []),
                         JOURNAL=str(journal))
    finally:
        shutil.rmtree(journal, ignore_errors=True)


def rabbit(rounds, seconds):
    columns = ["weft push", "RabbitMQ push", "weft take", "RabbitMQ take"]
    table = Table("One client, push with confirms, take and acknowledge: elements per second", columns,
                  [Ratio("weft push", "RabbitMQ push"), Ratio("weft take", "RabbitMQ take")])
    with Rabbits() as rabbits:
        for is_kept in (False, True):
            for window in (1, 64):
                kept = ["kept"] if is_kept else []
                table.row(f"window {window}, {'on disk' if is_kept else 'in memory'}", rounds, {
                    ("weft push", "weft take"): lambda: weft_work("push", window, seconds, is_kept),
                    ("RabbitMQ push", "RabbitMQ take"):
                        lambda: place.run("work_amqp", "push", rabbits.port(), window, seconds, *kept)})


def step(rounds, seconds):
    table = Table("Take an element, add to a number, done: steps per second", ["weft", "TensorFlow, recorded"],
                  [Ratio("weft", "TensorFlow, recorded")])
    for is_kept in (False, True):
        table.row("on disk" if is_kept else "in memory", rounds,
                  {"weft": lambda: weft_work("step", 64, seconds, is_kept)[0],
                   "TensorFlow, recorded": lambda: TENSORFLOW_STEPS})
