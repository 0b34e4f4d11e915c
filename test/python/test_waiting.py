"""Ctrl-C in every call that waits, forks, and hosts that are not there."""
import os
import signal
import time

import pytest
import weft
from conftest import free_ports

# Without an interrupt these calls wait for a minute or for ever. The real limit is for an idle machine.
LIMIT_S = 0.3 if os.environ.get("WEFT_LONG") == "1" else 10

WAITS = {
    "take": "c.queue('empty').take()",
    "take with a deadline": "c.queue('empty2').take(timeout=60)",
    "the loop": "[0 for item in c.queue('empty3')]",
    "pop": "c.queue('empty4').pop()",
    "push": "c.queue('full', capacity=1).push('b')",
    "a watch": "list(c.var('watched'))",
    "a watch of a map": "list(c.kv('watched').watch())",
    "a barrier": "c.barrier('alone', 2).wait()",
    "a barrier with a deadline": "c.barrier('alone', 2).wait(timeout=60)",
}

PROGRAM = """
    import sys, threading, time, weft
    with weft.connect(sys.argv[1]) as c:
        c.queue('full', capacity=1).look()["size"] or c.queue('full', capacity=1).push('a')
        c.var('watched').get()
        try:
            print("waits", flush=True)  # an interrupt may come at once
            WAIT
        except KeyboardInterrupt:
            print(time.monotonic(), flush=True)
            c.queue('after').push('works')
"""


@pytest.mark.parametrize("name", WAITS)
@pytest.mark.parametrize("pause_s", [0.005, 0.25])
def test_ctrl_c_ends(name, pause_s, host, program):
    started = program(PROGRAM.replace("WAIT", WAITS[name]), host.address)
    assert started.read_line() == "waits"
    time.sleep(pause_s)
    sent_s = time.monotonic()
    started.process.send_signal(signal.SIGINT)
    code, out, err = started.end()
    assert (code, err) == (0, ""), out
    assert float(out) - sent_s < LIMIT_S


def test_an_interrupted_call_has_done_nothing(host, c, program):
    queue = c.queue("nothing", capacity=1)
    queue.push("a")
    started = program("""
        import sys, weft
        c = weft.connect(sys.argv[1])
        print("waits", flush=True)
        c.queue("nothing", capacity=1).push("b")
    """, host.address)
    started.read_line()
    while not queue.look()["pusher_count"]:
        time.sleep(0.01)
    started.process.send_signal(signal.SIGINT)
    code, _, err = started.end()
    assert code == -signal.SIGINT and "KeyboardInterrupt" in err
    assert queue.pop() == b"a"
    queue.close()
    assert queue.take() is None


def test_an_element_that_was_waited_for_goes_to_another(host, c, program):
    started = program("""
        import sys, weft
        c = weft.connect(sys.argv[1])
        print("waits", flush=True)
        c.queue("another").take()
    """, host.address)
    started.read_line()
    queue = c.queue("another")
    while not queue.look()["taker_count"]:
        time.sleep(0.01)
    started.process.send_signal(signal.SIGINT)
    started.end()
    queue.push("a")
    assert queue.take(timeout=60).text == "a"


def test_ctrl_c_ends_a_wait_for_a_host_that_is_not_there(program):
    started = program("""
        import weft
        c = weft.connect("localhost:1")
        try:
            print("waits", flush=True)
            c.queue("any").push("a")
        except KeyboardInterrupt:
            print("ended")
    """)
    started.read_line()
    time.sleep(0.3)
    sent_s = time.monotonic()
    started.process.send_signal(signal.SIGINT)
    code, out, _ = started.end()
    assert (code, out) == (0, "ended\n") and time.monotonic() - sent_s < 2 * LIMIT_S


def test_ctrl_c_ends_leaving(tmp_path, program):
    config = ('{"cluster": {"a": ["localhost:%d"], "b": ["localhost:%d"]}, "task": {"type": "a", "index": 0}}'
              % tuple(free_ports(2)))
    started = program("""
        import weft
        c = weft.cluster()
        c.queue("/a/0/queue").push("for b, which never comes")
        try:
            print("leaves", flush=True)
            c.leave()
        except KeyboardInterrupt:
            print("ended")
    """, env={"TF_CONFIG": config})
    started.read_line()
    time.sleep(0.7)
    sent_s = time.monotonic()
    started.process.send_signal(signal.SIGINT)
    code, out, _ = started.end()
    assert (code, out) == (0, "ended\n") and time.monotonic() - sent_s < 2 * LIMIT_S


def test_a_host_that_is_not_there_is_an_error_with_its_address():
    with weft.connect("localhost:1", patience=0.1) as c:
        with pytest.raises(ConnectionError, match="localhost:1"):
            c.queue("any").push("a")


def test_a_wrong_address_is_refused_at_once():
    with pytest.raises(weft.InvalidArgument):
        weft.connect("localhost:port")


def test_no_tf_config_says_what_to_set(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(weft.Error, match="TF_CONFIG"):
        weft.cluster()


def test_a_fork_is_refused_and_its_parent_not_disturbed(host, c):
    queue = c.queue("fork")
    queue.push("a")
    item = queue.take()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            queue.push("from the child")
        except RuntimeError as error:
            code = 0 if "forked" in str(error) else 2
        del item, queue
        with weft.connect(host.address) as own:
            own.queue("fork2").push("by a connection of its own")
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    item.done()
    assert len(queue) == 0 and len(c.queue("fork2")) == 1


def test_a_host_that_restarts_loses_nothing_that_was_acknowledged(tmp_path):
    from conftest import Host
    host = Host(tmp_path, "--journal", str(tmp_path / "journal"))
    try:
        with weft.connect(host.address) as c:
            queue = c.queue("kept")
            queue.push_many(["a", "b"])
            host.restart()
            queue.close()
            assert [item.text for item in queue] == ["a", "b"]
    finally:
        host.stop()
