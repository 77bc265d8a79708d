"""The last steps of a fetch: verification against the card, and one atomic step into place."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from textcat.corpora.card import CorpusCard, Package
from textcat.corpora.manifest import Manifest, collection_files, read_manifest, sha256_of, state_of
from textcat.corpora.registry import count, fingerprint
from textcat.errors import BadDataError

_MOST_SINGLE_FLUSHES = 200


def verify(card: CorpusCard, package: Package, came_from: str, staging: Path) -> Manifest:
    """Check contents and counts of what a source brought; return the manifest that says so."""
    by_contents = _verify_contents(package, staging)
    counts = count(card.name, staging)
    wrong = [
        f"{what}: {counts.get(what)}, not {pinned}"
        for what, pinned in card.counts.items()
        if counts.get(what) != pinned
    ]
    if wrong:
        raise BadDataError(
            "the counts are not the published ones: " + "; ".join(wrong),
            where=came_from,
            hint="The source holds another edition: take the published one, or name a folder with --from.",
        )
    found = fingerprint(card.name, staging)
    by_contents = by_contents or found in card.fingerprints
    verified = "sha256 of every file and published counts" if by_contents else "published counts"
    return Manifest(card.name, came_from, verified, found, counts, *state_of(staging))


def _verify_contents(package: Package, staging: Path) -> bool:
    for wanted in package.contents:
        path = staging / wanted.path
        if not path.is_file():
            raise BadDataError(
                f"{wanted.path} is missing",
                where=package.title,
                hint="The source is not complete: fetch from another one, or name a folder with --from.",
            )
        if path.stat().st_size != wanted.size or sha256_of(path) != wanted.sha256:
            raise BadDataError(
                f"{wanted.path} is not the published file",
                where=package.title,
                hint="The source holds another edition: fetch from another one, or name a folder with --from.",
            )
    return bool(package.contents)


def put_in_place(staging: Path, folder: Path) -> Path:
    """Rename the staging folder; what stood there is removed if fetch made it, and set aside if not."""
    staging.chmod(0o755)
    _flush_files(collection_files(staging))
    if folder.exists():
        ours = read_manifest(folder) is not None
        aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.set-aside.", dir=folder.parent))
        folder.rename(aside / folder.name)
        staging.rename(folder)
        if ours:
            shutil.rmtree(aside, ignore_errors=True)
    else:
        staging.rename(folder)
    _flush(folder.parent)
    return folder


def _flush_files(paths: list[Path]) -> None:
    """Have the disk hold the files; of thousands, one by one takes minutes, so the system is asked once."""
    if len(paths) > _MOST_SINGLE_FLUSHES:
        os.sync()
        return
    for path in paths:
        _flush(path)


def _flush(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
