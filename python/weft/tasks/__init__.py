"""Functions that other processes run: a task queue on a host of Weft, with the words of Celery.

    from weft.tasks import App
    app = App("sums", broker="localhost:18125")      # weft host --journal DIR

    @app.task
    def add(x, y):
        return x + y

    add.delay(2, 3).get(timeout=10)                  # 5, once a worker runs: weft tasks worker sums

A task is done when its function has returned. If its worker dies before, another one runs it: at least once, up to
max_retries more times. A task that failed for good lies in the queue NAME.dead, with its error.
"""
from .app import App, Task, shared_task
from .results import AsyncResult, TaskFailed

Celery = App  # for programs that were written for it
__all__ = ["App", "AsyncResult", "Celery", "Task", "TaskFailed", "shared_task"]
