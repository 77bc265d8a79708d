"""Text inside arrays: an npz file read with allow_pickle=False holds no strings, but it holds bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def pack(value: object) -> NDArray[np.uint8]:
    """A JSON-able value as an array of bytes."""
    return np.frombuffer(json.dumps(value, separators=(",", ":")).encode("ascii"), dtype=np.uint8)


def unpack(array: NDArray[np.uint8]) -> Any:
    """The value that `pack` made the array of."""
    return json.loads(array.tobytes().decode("ascii"))
