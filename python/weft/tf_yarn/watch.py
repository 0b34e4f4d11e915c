"""What the command reports while a run lasts (docs/json.md), as states of tasks: for the table at the end, and for Metrics."""
import json
from datetime import timedelta

from .member import MARK
from .metrics import Metrics

CONTROLS = {number: "\\x%02x" % number for number in [*range(9), *range(11, 32), 127]}  # but tab and newline


def plain(text):
    """A text of a task, without characters that move the cursor of a terminal."""
    return str(text).translate(CONTROLS)


class Member:
    """A process of a task."""

    def __init__(self, name, processes):
        self.name = name
        self.role, _, index = name.partition("/")
        self.task = f"{self.role}:{int(index) // processes}"
        self.address, self.begun, self.exit_code, self.signal, self.seconds = "", False, None, 0, None
        self.has_failed, self.facts, self.why = False, {}, ""

    def status(self, run_failed):
        if not self.begun:
            return "REQUESTED"
        if self.has_failed or self.facts.get("stop"):
            return "FAILED"
        if self.exit_code == 0 or not run_failed:
            return "SUCCEEDED"
        return "KILLED"

    def training(self):
        """(begin, end) in seconds since 1970, or None."""
        begin, end = self.facts.get("train_eval_start_time"), self.facts.get("train_eval_stop_time")
        return (begin, end) if isinstance(begin, float) and isinstance(end, float) and not self.facts.get("stop") else None


class Watch:
    """Takes events, in their order. `calls` has line(member, text), news(text) and fact(member, report)."""

    def __init__(self, task_specs, calls, awaited=None):
        self.awaited = set(task_specs) if awaited is None else awaited  # roles whose members end by themselves
        self.calls, self.end, self.has_begun, self.first_failure, self.error_lines, self.why = calls, None, False, None, [], ""
        self.members = {}
        for role, spec in task_specs.items():
            for index in range(spec.instances * spec.nb_proc_per_worker):
                member = Member(f"{role}/{index}", spec.nb_proc_per_worker)
                self.members[member.name] = member

    def take_line(self, line):
        """A line of the command's standard error."""
        text = line.decode("utf-8", "replace")
        try:
            event = json.loads(text)
            kind = event["event"]
        except (ValueError, TypeError, KeyError):
            self.error_lines = (self.error_lines + [text])[-20:]
            self.calls.news(plain(text))
            return
        member = self.members.get(event.get("member"))
        handler = getattr(self, "on_" + str(kind), None)
        if handler:
            handler(event, member)

    def on_line(self, event, member):
        before, mark, after = event["text"].partition(MARK)
        if mark and member and self.take_report(member, after):
            event["text"] = before
            if not before:
                return
        self.calls.line(event["member"], plain(event["text"]))

    def take_report(self, member, text):
        try:
            found = json.loads(text)
            key = found["key"]
        except (ValueError, TypeError, KeyError):
            return False
        if key in ("metric", "mlflow"):
            self.calls.fact(member, found)
        else:
            member.facts[key] = found.get("value")
        return True

    def on_started(self, event, member):
        self.has_begun = True
        if member:
            member.begun, member.address, member.facts = True, event.get("address", ""), {}

    def on_ended(self, event, member):
        if member:
            member.exit_code, member.signal, member.seconds = event["exit_code"], event.get("signal", 0), event["seconds"]
            member.why = event.get("lost") or ""

    def on_failed(self, event, member):
        if member:
            member.has_failed = True
            self.first_failure = self.first_failure or member

    def on_warning(self, event, member):
        self.calls.news(plain(f"{event.get('member', '')}: {event.get('text', '')}"))

    def on_news(self, event, member):
        self.calls.news(plain(event.get("text", "")))

    def on_lost(self, event, member):
        self.calls.news(plain(f"the host {event.get('host')} is lost: {event.get('why')}"))

    def on_stopping(self, event, member):
        self.why = plain(event.get("why", ""))
        self.calls.news(self.why)

    def on_end(self, event, member):
        self.end = event

    # ---- At the end ---------------------------------------------------------------------------------------------

    def by_task(self):
        found = {}
        for member in self.members.values():
            found.setdefault(member.task, []).append(member)
        return found

    def metrics(self):
        containers, nodes, totals = {}, {}, {"training": [], "evaluation": []}
        for task, members in self.by_task().items():
            seconds = [member.seconds if member.begun else None for member in members]
            containers[task] = None if None in seconds else timedelta(seconds=max(seconds))
            spans = [member.training() for member in members]
            nodes[task] = None if None in spans else span_of(spans)
            group = {"chief": "training", "worker": "training", "evaluator": "evaluation"}.get(members[0].role)
            if group and members[0].role in self.awaited:
                totals[group] += spans
        return Metrics(span_of(totals["training"]), span_of(totals["evaluation"]), containers, nodes)

    def table(self, run_failed):
        """Lines for people."""
        metrics, lines, details = self.metrics(), [], []
        for task, members in sorted(self.by_task().items()):
            states = [member.status(run_failed) for member in members]
            worst = next(state for state in ("FAILED", "KILLED", "REQUESTED", "SUCCEEDED") if state in states)
            lines.append(f"{task:>16}  {members[0].address}  {worst}  Container duration: {metrics.container_duration[task]}"
                         f"  Training/evaluation duration: {metrics.train_eval_time_per_node[task]}")
            for member in members:
                if member.facts.get("stop"):
                    details += [f"Exception in task {task}" + (f" ({member.name})" if len(members) > 1 else "") + ":",
                                plain(member.facts["stop"]).rstrip("\n")]
        lines += [f"Training time = {metrics.total_training_duration}", f"Evaluation time = {metrics.total_eval_duration}"]
        return "\n".join(lines + details)

    def sentence(self):
        """Why the run failed."""
        member = self.first_failure
        if member is None:
            return f"the run ended with exit code {self.end['exit_code'] if self.end else 'unknown'}"
        if member.facts.get("stop"):
            last = plain(member.facts["stop"]).strip().splitlines()[0 if not str(member.facts["stop"]).startswith("Traceback") else -1]
            return f"{member.task} failed: {last}"
        if member.why:
            return f"{member.task} is lost: {plain(member.why)}"
        if member.signal:
            return f"{member.task} was ended by signal {member.signal}"
        return f"{member.task} failed with exit code {member.exit_code}"


def span_of(spans):
    """From the first begin to the last end; None where one is not known."""
    if not spans or None in spans:
        return None
    return timedelta(seconds=max(end for _, end in spans) - min(begin for begin, _ in spans))
