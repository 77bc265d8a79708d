"""Whether a disk has room for what is to come, asked before it is written."""

from __future__ import annotations

import shutil
from pathlib import Path

from textcat.errors import DataNotAvailableError

_SPARE_BYTES = 50_000_000


def require_room(folder: Path, needed: int) -> None:
    """So many bytes must fit below the folder, with some to spare."""
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        raise DataNotAvailableError(
            f"{needed:,} bytes are to come and only {free:,} are free",
            where=str(folder),
            hint="Make room, or name another folder for the data.",
        )
