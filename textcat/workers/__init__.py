"""Who does the work: this process, its threads, processes of this machine, or the workers of a Dask cluster."""

from textcat.workers.crew import Alone, Crew
from textcat.workers.hiring import BACKENDS, hired

__all__ = ["BACKENDS", "Alone", "Crew", "hired"]
