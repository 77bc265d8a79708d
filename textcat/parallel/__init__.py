"""Who does the work: this process, its threads, processes of this machine, or the workers of a Dask cluster."""

from textcat.parallel.executors import BACKENDS, Alone, Crew, hired

__all__ = ["BACKENDS", "Alone", "Crew", "hired"]
