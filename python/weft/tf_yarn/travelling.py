"""The function of run_on_yarn on its way to the tasks: by name where that is enough, by value otherwise."""
import json
import os
import pickle
import sys

from .. import code

PROTOCOL = 4


class SafeExperiment:
    """A function that is known by its name alone: get_safe_experiment_fn() makes one."""

    def __init__(self, name, arguments):
        self.name, self.arguments = name, arguments

    def __call__(self):
        from .member import named_function
        return named_function(self.name, self.arguments)()


def get_safe_experiment_fn(full_fn_name, *args):
    """A function for run_on_yarn that calls `full_fn_name` ("package.module.function") with these arguments. Only the name and the arguments,
    which are texts and numbers, lists and dicts, travel: the module has to be in the environment or among files=."""
    if "." not in full_fn_name:
        raise ValueError(f"{full_fn_name!r} has no module: try \"package.module.function\"")
    json.dumps(args)  # raises TypeError
    return SafeExperiment(full_fn_name, args)


def write_experiment(function, path):
    """Writes the file that member.load_experiment() reads. Returns whether tasks need cloudpickle."""
    if isinstance(function, SafeExperiment):
        head, data = {"name": function.name, "arguments": function.arguments}, b""
    else:
        data, by_value = pickle_experiment(function)
        head = {"python": "%d.%d" % sys.version_info[:2], "by_value": by_value}
    with open(path, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + data)
    return head.get("by_value", False)


def pickle_experiment(function):
    if not callable(function):
        raise TypeError(f"experiment_fn is {function!r}: a function is expected")
    name = getattr(function, "__qualname__", "function")
    if code.has_cloudpickle():
        import cloudpickle
        try:
            data = cloudpickle.dumps(function, protocol=PROTOCOL)
        except Exception as error:
            raise ValueError(f"{name} cannot be sent to the tasks: {error}\n"
                             "  try: get_safe_experiment_fn(\"package.module.function\"), which sends the name alone") from error
        return data, b"cloudpickle" in data
    if getattr(function, "__module__", "__main__") == "__main__":
        raise ValueError(f"{name} is a function of this script: to send it to the tasks, the package cloudpickle is needed\n"
                         "  try: pip install cloudpickle, or get_safe_experiment_fn(\"package.module.function\")")
    try:
        return pickle.dumps(function, protocol=PROTOCOL), False
    except Exception as error:
        raise ValueError(f"{name} cannot be sent to the tasks without the package cloudpickle: {error}\n"
                         "  try: pip install cloudpickle") from error


def library(needs_cloudpickle):
    """{name: path} of packages for the folder lib of tasks, which come after those of the environment."""
    found = {"weft": os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}
    if needs_cloudpickle:
        import cloudpickle
        found["cloudpickle"] = os.path.dirname(os.path.abspath(cloudpickle.__file__))
    return found
