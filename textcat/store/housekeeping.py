"""List the artifacts of a cache with their sizes and experiments, and delete some of them.

A run records the keys of its artifacts in `data/cache-uses/EXPERIMENT.json` before it builds them. An artifact without
a record, such as a block of a model, belongs to the experiments that use one of its inputs.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from textcat.errors import StageFailedError
from textcat.store.artifacts import ARTIFACT_MANIFEST
from textcat.store.files import hold_lock, write_atomically

log = logging.getLogger(__name__)

UNFINISHED = ".part"
Uses = Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class StoredArtifact:
    """An artifact on disk; `built` is in seconds since 1970, `inputs` are the keys of its inputs.

    `unfinished` marks the folder of a builder that is at work or was killed.
    """

    folder: Path
    stage: str
    key: str
    bytes: int
    built: float
    inputs: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    unfinished: bool = False

    def describe(self) -> dict[str, Any]:
        """Return everything as JSON-able data."""
        return {
            "stage": self.stage,
            "key": self.key,
            "bytes": self.bytes,
            "built": int(self.built),
            "experiments": list(self.experiments),
            "unfinished": self.unfinished,
        }


@dataclass
class Clearing:
    """What a deletion did, or with `dry_run` would do; `errors` has one message for each failure."""

    deleted: list[StoredArtifact] = field(default_factory=list)
    in_use: list[StoredArtifact] = field(default_factory=list)
    shared: list[StoredArtifact] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def bytes(self) -> int:
        """The size of the deleted artifacts."""
        return sum(each.bytes for each in self.deleted)


def _locate_uses(root: Path) -> Path:
    return root.with_name(f"{root.name}-uses")


def record_use(root: Path, experiment: str, keys: Iterable[str]) -> None:
    """Record that an experiment uses these artifacts, in addition to those of its earlier runs.

    If the cache cannot be written to, nothing is recorded, because it can still be read.
    """
    path = _locate_uses(root) / f"{experiment}.json"
    wanted = set(keys)
    if wanted <= _read_use(path):
        return
    try:
        with hold_lock(path.with_suffix(".lock")):
            together = sorted(wanted | _read_use(path))
            content = {"experiment": experiment, "artifacts": together}
            write_atomically(path, json.dumps(content, indent=0) + "\n")
    except StageFailedError as error:
        log.debug("%s", error)


def _read_use(path: Path) -> frozenset[str]:
    try:
        return frozenset(map(str, json.loads(path.read_text(encoding="utf-8"))["artifacts"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return frozenset()


def read_uses(root: Path) -> dict[str, frozenset[str]]:
    """Map the experiments that used this cache to the keys of their artifacts."""
    folder = _locate_uses(root)
    paths = sorted(folder.rglob("*.json"))
    return {path.relative_to(folder).with_suffix("").as_posix(): _read_use(path) for path in paths}


def list_artifacts(root: Path) -> list[StoredArtifact]:
    """Return the artifacts of a cache by stage and key, with the experiments that use them."""
    found = [
        artifact
        for stage in sorted(path for path in _list_folder(root) if path.is_dir())
        for folder in _list_folder(stage)
        if folder.is_dir() and not folder.is_symlink() and (artifact := _read_artifact(folder))
    ]
    users = _find_users(found, read_uses(root))
    return [replace(each, experiments=tuple(sorted(users[each.key]))) for each in found]


def _list_folder(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _read_artifact(folder: Path) -> StoredArtifact | None:
    """Return the artifact in a folder, or None if it was deleted in the meantime."""
    unfinished = folder.name.endswith(UNFINISHED)
    key = folder.name.split(".")[1] if unfinished else folder.name
    try:
        size = sum(entry.stat(follow_symlinks=False).st_size for entry in _iterate_files(folder))
        manifest = folder / ARTIFACT_MANIFEST
        built = (manifest if manifest.is_file() else folder).stat().st_mtime
    except FileNotFoundError:
        return None
    return StoredArtifact(
        folder, folder.parent.name, key, size, built, _read_inputs(folder), unfinished=unfinished
    )


def _iterate_files(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _iterate_files(Path(entry.path))
            else:
                yield entry


def _read_inputs(folder: Path) -> tuple[str, ...]:
    try:
        recipe = json.loads((folder / ARTIFACT_MANIFEST).read_text(encoding="utf-8"))["recipe"]
        return tuple(str(key) for key in recipe["inputs"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ()


def _find_users(artifacts: Sequence[StoredArtifact], uses: Uses) -> defaultdict[str, set[str]]:
    """Map keys to the experiments that use them: recorded ones, else those that use an input."""
    users: defaultdict[str, set[str]] = defaultdict(set)
    for experiment, keys in uses.items():
        for key in keys:
            users[key].add(experiment)
    recorded = set(users)
    changed = True
    while changed:
        changed = False
        for artifact in artifacts:
            if artifact.key in recorded:
                continue
            inherited = set[str]().union(*(users[key] for key in artifact.inputs if key in users))
            if not inherited <= users[artifact.key]:
                users[artifact.key] |= inherited
                changed = True
    return users


def sum_sizes(
    artifacts: Iterable[StoredArtifact], groups: Callable[[StoredArtifact], Iterable[str]]
) -> dict[str, tuple[int, int]]:
    """Map names to the number and bytes of their artifacts; `groups` returns the names of an artifact."""
    numbers, sizes = Counter[str](), Counter[str]()
    for each in artifacts:
        for name in groups(each):
            numbers[name] += 1
            sizes[name] += each.bytes
    return {name: (numbers[name], sizes[name]) for name in sorted(numbers)}


def clear_artifacts(
    root: Path, *, experiment: str | None = None, older_than: float | None = None, dry_run: bool = False
) -> Clearing:
    """Delete the artifacts of an experiment, those built more than `older_than` seconds ago, or all.

    Artifacts that other experiments use as well are kept if an experiment is given. Those of an experiment that is
    running (one of its artifacts is being built) are always kept.
    """
    artifacts = list_artifacts(root)
    done = Clearing()
    running = _find_running(root, artifacts)
    now = time.time()
    for artifact in artifacts:
        if experiment is not None and experiment not in artifact.experiments:
            continue
        if older_than is not None and now - artifact.built <= older_than:
            continue
        if experiment is not None and len(artifact.experiments) > 1:
            done.shared.append(artifact)
        elif running & {artifact.key, *artifact.experiments, *artifact.inputs}:
            done.in_use.append(artifact)
        else:
            _delete(artifact, done, dry_run=dry_run)
    return done


def _find_running(root: Path, artifacts: Sequence[StoredArtifact]) -> set[str]:
    """Return the keys that are locked, and the experiments that use them."""
    locked = {
        path.stem
        for stage in _list_folder(root)
        for path in _list_folder(stage)
        if path.suffix == ".lock" and _is_locked(path)
    }
    used = {name for name, keys in read_uses(root).items() if keys & locked}
    return locked.union(used, *(each.experiments for each in artifacts if each.key in locked))


def _is_locked(path: Path) -> bool:
    with _try_lock(path) as is_free:
        return not is_free


@contextmanager
def _try_lock(path: Path) -> Iterator[bool]:
    """Hold a lock file, without waiting, during the block; yield False if another process holds it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        # Nobody can build in a folder in which no lock can be made; deleting reports the reason.
        yield True
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _delete(artifact: StoredArtifact, done: Clearing, *, dry_run: bool) -> None:
    """Delete one artifact under its lock; rename it first, so that no reader finds half of it."""
    if dry_run:
        done.deleted.append(artifact)
        return
    folder = artifact.folder
    with _try_lock(folder.parent / f"{artifact.key}.lock") as is_free:
        if not is_free:
            done.in_use.append(artifact)
            return
        try:
            doomed = folder
            if not artifact.unfinished:
                doomed = folder.with_name(f".{artifact.key}.cleared{UNFINISHED}")
                folder.replace(doomed)
            shutil.rmtree(doomed)
        except FileNotFoundError:
            return
        except OSError as error:
            done.errors.append(f"{folder}: cannot delete: {error.strerror or error}")
            return
    done.deleted.append(artifact)
