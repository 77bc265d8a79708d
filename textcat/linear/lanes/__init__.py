"""One pass over the sparse matrix for all categories: a contiguous lane a category, a vector instruction a
nonzero.
"""

from textcat.linear.lanes.solution import LaneSolution
from textcat.linear.lanes.solve import solve

__all__ = ["LaneSolution", "solve"]
