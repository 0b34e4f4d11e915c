"""The servers that are measured; each lives for one measurement, or for one table."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

from . import machine, place

REDIS = {"push": "lpush", "mix": "rpop", "add": "incr"}


class Server:
    """A process with a port and a folder of its own, ended when the block is left."""

    def __init__(self, name):
        self.port, = place.free_ports(1)
        self.folder = place.CACHE / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.process = None

    def start(self, command, **env):
        self.process = subprocess.Popen([str(word) for word in command], env={**os.environ, **env},
                                        cwd=self.folder, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        machine.alive[self.process.pid] = self

    def wait(self, host="127.0.0.1", seconds=10):
        """Until it takes connections. A server that does not is ended, and has failed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection((host, self.port), 0.2).close()
                return
            except OSError:
                time.sleep(0.02)
        code = self.process.poll()
        self.__exit__()
        raise place.Failed(f"{self.folder.name}: nobody listens at {host}:{self.port}" if code is None else
                           f"{self.folder.name}: the server ended with {code}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        del machine.alive[self.process.pid]
        shutil.rmtree(self.folder, ignore_errors=True)


class Weft(Server):
    """weft host, reached over a Unix socket ("unix"), or TLS on loopback ("tcp") or another address ("tls").

    Between two processes of one user over loopback Weft takes a Unix socket. It goes by TCP, with TLS, where the
    name of that socket is taken, so we take it; and to any other address.
    """

    def __init__(self, journal=False, by="unix", cores=None, **env):
        super().__init__("weft")
        self.bound = [["taskset", "-c", str(core)] for core in cores] if cores else [[], []]
        self.host = {"unix": "localhost", "tcp": "127.0.0.1"}.get(by) or place.own_address()
        self.env, self.taken = env, None
        if by == "tcp":
            self.taken = socket.socket(socket.AF_UNIX)
            self.taken.bind(f"\0weft-{os.geteuid()}-{self.port}")
        kept = ["--journal", self.folder / "journal"] if journal else []
        self.start([*self.bound[0], place.BUILD / "weft", "host", "-q", "--listen", f"{self.host}:{self.port}", *kept],
                   WEFT_TOKEN=place.token(), **env)
        self.wait(self.host)

    def load(self, *arguments):
        return place.run("load", self.port, *arguments, under=self.bound[1], HOST=self.host, **self.env)

    def __exit__(self, *rest):
        super().__exit__(*rest)
        if self.taken:
            self.taken.close()


class Redis(Server):
    def __init__(self, journal=False):
        place.need("redis-server", "redis-server")
        super().__init__("redis")
        always = ["--appendonly", "yes", "--appendfsync", "always"] if journal else []
        self.start(["redis-server", "--port", self.port, "--save", "", "--dir", self.folder, *always])
        self.wait()

    def load(self, operation, clients, in_flight, seconds):
        test = REDIS[operation]
        calls = int(self.benchmark(test, clients, in_flight, 20 * clients * in_flight) * seconds)
        if test == "rpop":  # an empty list would be popped faster
            self.benchmark("lpush", clients, in_flight, calls)
        return self.benchmark(test, clients, in_flight, calls)

    def benchmark(self, test, clients, in_flight, calls):
        place.need("redis-benchmark", "redis-tools")
        calls = max(calls, 20 * clients * in_flight, 2000)  # fewer may take no time that it could tell
        command = ["redis-benchmark", "-p", str(self.port), "-t", test, "-d", "100", "-q",
                   "-c", str(clients), "-P", str(in_flight), "-n", str(calls)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            raise place.Failed(f"{' '.join(command)}: takes longer than 300 s") from None
        rates = re.findall(r"([\d.]+) requests per second", done.stdout)
        if done.returncode or not rates:
            raise place.Failed(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()[-200:]}")
        return float(rates[-1])


class Rabbit(Server):
    """RabbitMQ as a node of its own, with its own epmd: nothing of it is left behind."""

    SCRIPT = "/usr/lib/rabbitmq/bin/rabbitmq-server"

    def __init__(self):
        if not os.path.exists(self.SCRIPT):
            raise place.Absent("apt-get install rabbitmq-server")
        super().__init__("rabbit")
        between_nodes, self.epmd_port = place.free_ports(2)
        folder = str(self.folder)
        self.start([self.SCRIPT], HOME=folder, RABBITMQ_NODENAME="weft-bench@localhost",
                   RABBITMQ_MNESIA_BASE=folder + "/mnesia", RABBITMQ_LOG_BASE=folder + "/log",
                   RABBITMQ_NODE_PORT=str(self.port), RABBITMQ_NODE_IP_ADDRESS="127.0.0.1",
                   RABBITMQ_DIST_PORT=str(between_nodes), RABBITMQ_CONF_ENV_FILE="/dev/null",
                   RABBITMQ_CONFIG_FILE=folder + "/none", RABBITMQ_ENABLED_PLUGINS_FILE=folder + "/plugins",
                   RABBITMQ_PID_FILE=folder + "/pid", ERL_EPMD_PORT=str(self.epmd_port),
                   ERL_EPMD_ADDRESS="127.0.0.1")
        self.wait(seconds=60)
        time.sleep(2)  # it takes connections a little before it is up

    def __exit__(self, *rest):
        super().__exit__(*rest)
        subprocess.run(["epmd", "-port", str(self.epmd_port), "-kill"], stdout=subprocess.DEVNULL)
