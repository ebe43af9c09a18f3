"""
Spark's Python daemon, with what a task needs already imported.

Spark forks each worker from this process (``spark.python.daemon.module``): a bundle then starts
without importing anything, and workers share the memory of their code.
"""

import importlib

from pyspark.daemon import manager

_NEEDED = ("pyspark.worker", "flows.source.task")

if __name__ == "__main__":
    for module in _NEEDED:
        importlib.import_module(module)
    manager()
