"""What else the machine does: waiting for a quiet moment, and the share that others had."""
import os
import time

QUIET_SECONDS = float(os.environ.get("WEFT_BENCH_QUIET", "1"))
QUIET_SHARE, LOOK_SECONDS = 0.1, 0.1
TICK = 1 / os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count()

alive = {}  # servers of ours that run, by process id


def busy_seconds():
    """All work of all cores since the machine was started, the hypervisor's for others included."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK


def own_seconds():
    """Ours: of this process, of what has ended, and of the servers that run."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for process in alive:
        try:
            with open(f"/proc/{process}/stat", encoding="ascii") as file:
                total += sum(map(int, file.read().rpartition(")")[2].split()[11:13])) * TICK
        except OSError:
            pass
    return total


class Watch:
    """The work of others between start and stop, over all of these times."""

    def __init__(self):
        self.work = self.seconds = 0

    def __enter__(self):
        self.start, self.busy, self.own = time.monotonic(), busy_seconds(), own_seconds()
        return self

    def __exit__(self, *_):
        self.work += busy_seconds() - self.busy - (own_seconds() - self.own)
        self.seconds += time.monotonic() - self.start

    def others(self):
        """Their share of the machine."""
        return max(0, self.work / (CORES * self.seconds)) if self.seconds else 0


def wait_for_quiet():
    end = time.monotonic() + QUIET_SECONDS
    while time.monotonic() < end:
        with Watch() as watch:
            time.sleep(LOOK_SECONDS)
        if watch.others() < QUIET_SHARE:
            return
