"""Executors for independent tasks: this process, local threads or processes, or the workers of a Dask cluster."""

from textcat.parallel.executors import BACKENDS, Executor, SerialExecutor, start_workers

__all__ = ["BACKENDS", "Executor", "SerialExecutor", "start_workers"]
