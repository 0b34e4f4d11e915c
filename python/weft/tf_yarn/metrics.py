"""What run_on_yarn returns: durations."""
from datetime import timedelta
from typing import Dict, NamedTuple, Optional


class Metrics(NamedTuple):
    """Durations of a run. Tasks are named "worker:0"; a duration that is not known is None."""
    total_training_duration: Optional[timedelta]
    total_eval_duration: Optional[timedelta]
    container_duration: Dict[str, Optional[timedelta]]
    train_eval_time_per_node: Dict[str, Optional[timedelta]]

    def seconds(self) -> Dict[str, float]:
        """The known ones in seconds, by names such as "container_duration_worker:0"."""
        found = {}
        for name, value in self._asdict().items():
            for key, one in (value.items() if isinstance(value, dict) else [(None, value)]):
                if one is not None:
                    found[name if key is None else f"{name}_{key}"] = one.total_seconds()
        return found


MONITORED_METRICS = {
    "awake_time_ratio": "Awake/idle ratio",
    "eval_step_mean_duration": "Eval step mean duration (in sec)",
    "last_training_step": "Training set of last checkpoint",
    "nb_eval_steps": "Number of evaluation steps done",
}


class EvaluatorMonitor:
    """Which figures of evaluators are worth a line: those that have changed, and are within their thresholds."""

    def __init__(self, thresholds):
        self.thresholds, self.last = {}, {}
        for name, bounds in (thresholds or {}).items():
            try:
                low, high = bounds
            except (TypeError, ValueError):
                raise ValueError(f"eval_monitor_log_thresholds[{name!r}] is {bounds!r}: a pair (lowest, highest) is expected") from None
            self.thresholds[name] = (0 if low is None else low, float("inf") if high is None else high)

    def unknown(self):
        return sorted(set(self.thresholds) - set(MONITORED_METRICS))

    def line(self, task, name, value):
        """The sentence for a figure, or None."""
        low, high = self.thresholds.get(name, (float("-inf"), float("inf")))
        is_news = self.last.get((task, name)) != value
        self.last[task, name] = value
        if not is_news or not low <= value <= high:
            return None
        return f"Statistics for {task}: {MONITORED_METRICS.get(name, name)}: {value:g}"
