"""
Spark's Python daemon, with what a task needs already imported.

Spark forks each worker from this process (``spark.python.daemon.module``): a bundle then starts
without importing anything, and workers share the memory of their code. Where the driver runs on
this machine, it has imported all of that before, and a fork of it takes over.
"""

import importlib

from flows.spark.task_forker import hand_over

_NEEDED = ("pyspark.daemon", "pyspark.worker")
BUNDLES = "flows.source.source_task"


def import_needed(task_module: str = BUNDLES) -> None:
    """Imports what a worker needs that runs a function of a module."""
    for module in (*_NEEDED, task_module):
        importlib.import_module(module)


def main() -> None:
    """Serves Spark until it closes the standard input."""
    if hand_over():
        return
    import_needed()
    importlib.import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
