"""weft.tf1: the names of TensorFlow that it has, in a cluster of one member. e2e 96-python-tf1 runs whole clusters."""
import json
import os
import subprocess
import sys

import pytest
from conftest import free_ports

PROGRAM = """
import tensorflow as tf
config = tf.contrib.learn.RunConfig()
server = tf.train.Server(config.cluster_spec, job_name=config.task_type, task_index=config.task_id)
"""


@pytest.fixture
def run(tmp_path):
    """Runs a program as the only member of a cluster: (exit code, standard output, standard error)."""
    config = {"cluster": {"a": [f"localhost:{free_ports(1)[0]}"]}, "task": {"type": "a", "index": 0}}

    def start(text, program=PROGRAM):
        path = tmp_path / "program.py"
        path.write_text(program + text)
        done = subprocess.run([sys.executable, "-m", "weft.tf1", str(path), "argument"], text=True, timeout=60,
                              capture_output=True, env={**os.environ, "TF_CONFIG": json.dumps(config)})
        return done.returncode, done.stdout, done.stderr
    return start


def test_values_are_computed_when_they_are_fetched(run):
    assert run("""
v = tf.Variable(5, name="v", dtype=tf.int64)
x = tf.placeholder(tf.int32)
with tf.Session(server.target) as session:
    print(session.run(tf.is_variable_initialized(v)))
    session.run(tf.global_variables_initializer())
    session.run(v.assign_add(x), {x: 3})
    session.run(tf.global_variables_initializer())  # sets only once
    session.run(tf.assign_sub(v, 1))
    print(session.run([v + x, x - 1, tf.constant(2)], feed_dict={x: 10}))
    print(session.run({"v": v.assign(10 + v)}), session.run(v.assign(x), {x: 4}))
""") == (0, "False\n[17, 9, 2]\n{'v': 17} 4\n", "")


def test_queues_of_one_and_of_several_components(run):
    assert run("""
names = tf.FIFOQueue(10, [tf.string], shared_name="names")
pairs = tf.FIFOQueue(10, dtypes=[tf.string, tf.int32], shared_name="pairs")
session = tf.Session(server.target)
session.run(names.enqueue_many([["a", "b", "c", "d", "e"]]))
print(session.run(names.size()))
print(session.run(names.dequeue()), session.run(names.dequeue_many(2)))
session.run(names.close())
print(session.run(names.dequeue_up_to(5)), session.run(names.is_closed()))
session.run(pairs.enqueue(["x", 3]))
print(session.run(pairs.dequeue()))
try:
    session.run(names.dequeue())
except tf.errors.OutOfRangeError as error:
    print(error.error_code, error)
""") == (0, "5\na [b'b', b'c']\n[b'd', b'e'] True\n[b'x', 3]\n11 FIFOQueue '/a/0/names' is closed and has insufficient "
         "elements (requested 1, current size 0)\n", "")


def test_dequeue_many_gives_back_what_it_cannot_complete(run):
    assert run("""
names = tf.FIFOQueue(10, [tf.string], shared_name="names")
session = tf.Session(server.target)
session.run(names.enqueue_many([["a", "b"]]))
session.run(names.close())
try:
    session.run(names.dequeue_many(3))
except tf.errors.OutOfRangeError:
    print(session.run(names.size()))
""") == (0, "2\n", "")


def test_the_end_of_a_queue_that_is_not_caught_ends_with_0(run):
    code, out, err = run("""
import sys
names = tf.FIFOQueue(10, [tf.string], shared_name="names")
session = tf.Session(server.target)
session.run(names.close())
print(sys.argv[1])
session.run(names.dequeue())
print("not reached")
""")
    assert (code, out, err) == (0, "argument\n", "")


def test_an_exception_is_shown_and_ends_with_1(run):
    code, _, err = run("1 / 0\n")
    assert code == 1 and "ZeroDivisionError" in err


@pytest.mark.parametrize("text, message", [
    ("tf.matmul", "weft.tf1 has no tf.matmul; it has "),
    ("tf.train.AdamOptimizer", "weft.tf1 has no tf.train.AdamOptimizer; it has ClusterSpec, Server"),
    ("tf.contrib.slim", "weft.tf1 has no tf.contrib.slim; it has learn"),
    ("tf.RandomShuffleQueue", "weft.tf1 has no tf.RandomShuffleQueue; it has "),
])
def test_a_name_that_is_missing_says_what_there_is(run, text, message):
    code, _, err = run(text + "\n")
    assert code == 1 and "AttributeError: " + message in err


def test_other_ways_to_import_it(run):
    assert run("""
import tensorflow.compat.v1 as tf
from tensorflow.contrib.learn import RunConfig
tf.disable_eager_execution()
tf.logging.set_verbosity(tf.logging.ERROR)
print(tf.int32, RunConfig().task_type)
""", "") == (0, "tf.int32 a\n", "")


def test_what_cannot_be_is_an_error_of_tensorflow(run):
    code, out, _ = run("""
session = tf.Session(server.target)
v = tf.Variable(0, name="v")
for node in (tf.placeholder(tf.int32), v):
    try:
        session.run(node)
    except tf.errors.OpError as error:
        print(type(error).__name__)
try:
    tf.Variable([1, 2], name="array")
except tf.errors.InvalidArgumentError as error:
    print(error)
""")
    assert (code, out) == (0, "InvalidArgumentError\nFailedPreconditionError\n"
                           "weft.tf1 has no tensors: [1, 2] is not one text or number\n")
