"""What tf-yarn has for Estimators, which TensorFlow does not have any more."""
from .member import NO_ESTIMATORS

NAMES = ("Experiment", "KerasExperiment", "EvalMonitorHook", "StepPerSecondHook")


def refuse(name):
    # Not an AttributeError: `from weft.tf_yarn import Experiment` would replace its text.
    raise ImportError(f"weft.tf_yarn: {NO_ESTIMATORS.format(name)}")


def attribute_of(module, name):
    """For __getattr__ of a module."""
    if name in NAMES:
        refuse(name)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")
