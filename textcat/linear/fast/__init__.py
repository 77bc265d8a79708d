"""One pass over the sparse matrix for all categories: a contiguous lane a category, a vector instruction a
nonzero.
"""

from textcat.linear.fast.solver import solve
from textcat.linear.fast.task import LaneSolution

__all__ = ["LaneSolution", "solve"]
