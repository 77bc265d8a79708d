"""Who does the work: this process, its threads, processes of this machine, or the workers of a Dask cluster."""

from textcat.parallel.executors import BACKENDS, Executor, SerialExecutor, start_workers

__all__ = ["BACKENDS", "Executor", "SerialExecutor", "start_workers"]
