"""What runs in each task: a script of its own, for any Python 3 that the task's machine has. It needs no other module of weft.

    python member.py FOLDER call|local_rank|pytorch|module [MODULE]

FOLDER has `experiment`, the function that was given to run_on_yarn, and `lib`, packages that the environment of the task may lack. Facts
about the task (when training began and ended, a traceback, metrics) go to standard error as lines that begin with MARK; the client takes them
out.
"""
import json
import os
import sys
import time
import traceback

MARK = "weft-report: "
REPORT_MAX = 60000  # bytes: a line of 64 KiB comes to the client in pieces, which it does not know as a report
LINE_MAX, LINES_MAX = 1500, 200  # of a traceback

NO_ESTIMATORS = """{} is for Estimators, which TensorFlow removed in 2.16
  a function that is given to run_on_yarn now does the training itself, and returns nothing: TF_CONFIG is set for a tf.distribute.Strategy
  docs/coming-from-tf-yarn.md has an example"""


class Refused(Exception):
    """A sentence for people, without a traceback."""


def report(key, value, **more):
    """Hands a fact to the client, in one line that other output cannot split."""
    line = MARK + json.dumps(dict(more, key=key, value=value)) + "\n"
    if len(line) > REPORT_MAX:
        line = "weft: a report (%s) of %d bytes is too large, and is left out: %d is the limit\n" % (key, len(line), REPORT_MAX)
    sys.stderr.flush()
    os.write(2, line.encode("ascii"))


def shorten(text):
    """What a report has room for: of long lines the beginning, of many lines the first and the last ones."""
    lines = [line if len(line) <= LINE_MAX else line[:LINE_MAX] + "..." for line in text.splitlines()]
    first, rest = lines[:1], lines[1:]
    while len(rest) > 1 and (len(rest) > LINES_MAX or len(json.dumps(rest)) > REPORT_MAX - 20000):
        rest = (["  ..."] if len(rest) > 3 else []) + rest[len(rest) // 4 + 1:]
    return "\n".join(first + rest) + "\n"


def load_experiment(folder):
    """The function of run_on_yarn."""
    import pickle
    with open(os.path.join(folder, "experiment"), "rb") as file:
        head = json.loads(file.readline().decode())
        data = file.read()
    if "name" in head:
        return named_function(head["name"], head["arguments"])
    here = "%d.%d" % sys.version_info[:2]
    if head["by_value"] and head["python"] != here:
        raise Refused("the function was made by Python %s, and this task has Python %s: its code cannot be read here\n"
                      "  try: the same Python in pyenv_zip_path, or a function of a module that files= sends" % (head["python"], here))
    try:
        return pickle.loads(data)
    except ImportError as error:
        raise Refused("the function needs a module that this task lacks: %s\n"
                      "  try: files={\"%s.py\": PATH}, or an environment (pyenv_zip_path) that has it" % (error, error.name or "NAME"))


def named_function(name, arguments):
    import importlib
    module, _, function = name.rpartition(".")

    def experiment():
        return getattr(importlib.import_module(module), function)(*arguments)
    return experiment


def run(folder, kind, rest):
    if kind == "module":
        import runpy
        sys.argv = [rest[0]]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    experiment = load_experiment(folder)
    report("train_eval_start_time", time.time())
    if kind == "local_rank":
        experiment(int(os.environ.get("LOCAL_RANK", "0")))
    else:
        take_result(experiment(), kind)
    report("train_eval_stop_time", time.time())


def take_result(result, kind):
    for one, names in ("Experiment", ("estimator", "train_spec")), ("KerasExperiment", ("model", "input_data_fn")):
        if all(hasattr(result, name) for name in names):
            raise Refused(NO_ESTIMATORS.format(one))
    if hasattr(result, "main_fn") and hasattr(result, "train_dataset"):
        from weft.tf_yarn.pytorch import worker
        worker.train(result)
    elif kind == "pytorch":
        raise Refused("the function returns %.200r, and the task module for PyTorch needs a PytorchExperiment" % (result,))


def fail(text, code):
    report("stop", shorten(text))
    sys.stdout.flush()
    sys.stderr.write(text)
    sys.stderr.flush()
    os._exit(code)  # a thread that still runs must not keep a failure from being seen


def main():
    folder, kind, rest = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
    sys.path[0] = os.getcwd()  # files= are here
    sys.path.append(os.path.join(folder, "lib"))
    sys.argv = [os.path.join(folder, "experiment")]
    try:
        run(folder, kind, rest)
    except Refused as error:
        fail(str(error) + "\n", 1)
    except SystemExit as error:
        if error.code is not None and error.code != 0:
            fail("SystemExit: %s\n" % (error.code,), error.code if isinstance(error.code, int) and 0 < error.code < 256 else 1)
    except BaseException:
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next  # our own frames
        fail("".join(traceback.format_exception(kind, error, trace)), 1)
    report("stop", "")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
