"""Replace a folder by another so that a killed process leaves one of the two, whole, under the folder's name."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def replace_folder(new: Path, folder: Path) -> None:
    """Move folder `new` to the path `folder`; if there was a folder, it is then at the path `new`.

    Both must be on one disk. On Linux the two are exchanged in one step. On other systems and on file systems that
    cannot do so, there are three renames; a process killed between them leaves the old folder as `new`.replaced.
    """
    if not folder.exists():
        new.rename(folder)
    elif not _exchange(new, folder):
        aside = new.with_name(f"{new.name}.replaced")
        folder.rename(aside)
        new.rename(folder)
        aside.rename(new)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two paths in one step; return False where the system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    paths = (os.fsencode(first), os.fsencode(second))
    done = rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], ctypes.c_uint(_RENAME_EXCHANGE))
    return bool(done == 0)
