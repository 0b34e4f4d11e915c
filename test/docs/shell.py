"""A shell into which commands are typed one after the other, and where it runs; for run and examples beside it."""
import fcntl
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

# Takes commands that end with a zero byte from one descriptor and tells their exit codes on another. What they print
# goes to files, standard error to that of `errors`: a process in the background would hold a pipe open.
READER = """while IFS= read -r -d '' errors <&%d && IFS= read -r -d '' command <&%d; do
    eval "$command" </dev/null >>"$STDOUT" 2>>"$errors" %d<&- %d>&-
    printf '%%d\\n' $? >&%d
done"""


class Shell:
    """One shell in a process group of its own, with all that is started from it."""

    def __init__(self, directory, environment, timeout_s):
        self.directory, self.environment, self.timeout_s = directory, environment, timeout_s
        self.outputs = tempfile.TemporaryDirectory(prefix="weft-docs-out-", dir="/var/tmp")
        self.out, self.err = (pathlib.Path(self.outputs.name) / name for name in ("out", "err"))
        self.process = None

    def start(self):
        commands, self.commands = os.pipe()
        self.codes, codes = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", READER % (commands, commands, commands, codes, codes)],
            cwd=self.directory, stdin=subprocess.DEVNULL, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(commands, codes),
            env={**self.environment, "STDOUT": str(self.out)})
        os.close(commands)
        os.close(codes)

    def run(self, command, is_merged):
        """The exit code, standard output and error; -1 for a command that does not end, which ends all."""
        if not self.process:
            self.start()
        for path in (self.out, self.err):
            path.write_text("")
        os.write(self.commands, f"{self.out if is_merged else self.err}\0{command}\0".encode())
        is_done, _, _ = select.select([self.codes], [], [], self.timeout_s)
        code = int(os.read(self.codes, 16) or b"-1") if is_done else -1
        out, err = (path.read_text(errors="replace") for path in (self.out, self.err))
        if code == -1:
            err += "it did not end, or the shell did"
            self.end()
        return code, out, err

    def end(self):
        if not self.process:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        self.process.wait()
        os.close(self.commands)
        os.close(self.codes)
        self.process = None


def have_own_network(build):
    """Starts the program again in a network and a tree of processes of its own, where that can be had. Otherwise those
    that test `build` follow one another, as documents and examples name the same ports; and it is False."""
    if os.environ.get("WEFT_DOCS_INSIDE"):
        with socket.socket() as any_socket:  # SIOCSIFFLAGS: the loopback interface is up
            fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x41))
        return True
    own = ["--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    for user in (["--user", "--map-root-user"], []):  # the second is for root in a chroot, who may not have the first
        command = ["unshare", *user, *own]
        if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
            os.environ["WEFT_DOCS_INSIDE"] = "1"
            os.execvp(command[0], [*command, sys.executable, *sys.argv])
    have_own_network.lock = open(build / "docs.lock", "w")  # held until the program ends
    fcntl.flock(have_own_network.lock, fcntl.LOCK_EX)
    return False
