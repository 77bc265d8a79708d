"""Fetch a collection: try its sources in order, verify the files, install them in one step.

The sources are the one that the user names, or: the files in the collection's folder, the mirror, and the packages
of the card in their order (downloads, npm). Files are unpacked into a staging folder, verified against the card
(sha256 if known, and counts) and then installed by one rename.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from textcat.corpora.cards import (
    CorpusCard,
    Manifest,
    Package,
    hash_contents,
    list_collection_files,
    load_card,
    read_folder_state,
    read_manifest,
    write_manifest,
)
from textcat.corpora.fetch.download import ProgressCallback, RetryPolicy
from textcat.corpora.fetch.sources import ArchiveSource, FolderSource, NpmSource, PackageSource, WebSource
from textcat.corpora.registry import count_corpus, fingerprint_corpus
from textcat.errors import BadDataError, DataNotAvailableError, StageFailedError, TextcatError
from textcat.store.files import (
    flush_to_disk,
    grant_access,
    hash_file,
    hold_lock,
    is_disk_error,
    make_write_error,
    open_staging,
    replace_folder,
)

log = logging.getLogger(__name__)

_MOST_SINGLE_FLUSHES = 200


def verify_package(card: CorpusCard, package: Package, origin: str, staging: Path) -> Manifest:
    """Verify the contents and counts of the staged files; return their manifest."""
    by_contents = _verify_contents(package, staging)
    counts = count_corpus(card.name, staging)
    wrong = [
        f"{what}: {counts.get(what)}, not {pinned}"
        for what, pinned in card.counts.items()
        if counts.get(what) != pinned
    ]
    if wrong:
        raise BadDataError(
            "the counts differ from the published ones: " + "; ".join(wrong),
            where=origin,
            hint="The source has another edition: use another one with --from.",
        )
    found = fingerprint_corpus(card.name, staging)
    by_contents = by_contents or found in card.fingerprints
    verified = "sha256 of every file and published counts" if by_contents else "published counts"
    state = read_folder_state(staging)
    return Manifest(card.name, origin, verified, found, counts, *state, contents=hash_contents(staging))


def _verify_contents(package: Package, staging: Path) -> bool:
    for expected in package.contents:
        path = staging / expected.path
        if not path.is_file():
            raise BadDataError(
                f"{expected.path} is missing",
                where=package.title,
                hint="The source is incomplete: use another one with --from.",
            )
        if path.stat().st_size != expected.size or hash_file(path) != expected.sha256:
            raise BadDataError(
                f"{expected.path} differs from the published file",
                where=package.title,
                hint="The source has another edition: use another one with --from.",
            )
    return bool(package.contents)


def install_folder(staging: Path, folder: Path) -> Path:
    """Move the staging folder to its destination.

    Delete an old copy made by `fetch`; rename any other folder out of the way first.
    """
    grant_access(staging, 0o777)
    paths = list_collection_files(staging)
    if len(paths) > _MOST_SINGLE_FLUSHES:
        # For thousands of files, one flush of the whole system is faster.
        os.sync()
    else:
        for path in paths:
            flush_to_disk(path)
    if folder.exists() and read_manifest(folder) is None:
        aside = Path(tempfile.mkdtemp(prefix=f"{folder.name}.set-aside.", dir=folder.parent))
        folder.rename(aside / folder.name)
    replace_folder(staging, folder)
    shutil.rmtree(staging, ignore_errors=True)
    flush_to_disk(folder.parent)
    return folder


MIRROR_VARIABLE = "TEXTCAT_MIRROR"


@dataclass(frozen=True, kw_only=True)
class FetchReport(Manifest):
    """The manifest of a fetched collection, its folder and its terms; `fresh` is false if it was installed already."""

    folder: Path
    terms: str
    citation: str
    fresh: bool


def locate_corpus(name: str, data_folder: Path) -> Path:
    """Return the folder of a collection's files, whether it exists or not."""
    return data_folder / name


def is_fetched(name: str, data_folder: Path) -> bool:
    """Return whether a collection was fetched and verified and its files still have the same size."""
    folder = locate_corpus(name, data_folder)
    manifest = read_manifest(folder)
    return (
        manifest is not None
        and manifest.collection == name
        and manifest.has_same_size(read_folder_state(folder))
    )


def find_fetched(name: str, data_folder: Path) -> FetchReport | None:
    """Return what is known of a fetched collection whose files are unchanged, or None. Download and write nothing."""
    manifest = _read_valid_manifest(name, locate_corpus(name, data_folder))
    if manifest is None:
        return None
    return _make_fetch_report(load_card(name), data_folder, manifest, fresh=False)


def fetch_corpus(
    name: str,
    data_folder: Path,
    *,
    source: str | Path | None = None,
    offline: bool = False,
    mirror: Path | None = None,
    progress: ProgressCallback | None = None,
    retry: RetryPolicy | None = None,
) -> FetchReport:
    """Install a collection unless it is installed already; `source` is a folder, a file or an address."""
    card = load_card(name)
    folder = locate_corpus(name, data_folder)
    # Without the lock first: another user's data folder may be readable only.
    if manifest := _find_installed(card, folder):
        return _make_fetch_report(card, data_folder, manifest, fresh=False)
    data_folder.mkdir(parents=True, exist_ok=True)
    work = _FetchJob(card, data_folder, offline, progress, retry or RetryPolicy())
    with hold_lock(data_folder / ".locks" / f"{name}.lock"):
        if manifest := _find_installed(card, folder):
            return _make_fetch_report(card, data_folder, manifest, fresh=False)
        if (stored := read_manifest(folder)) is not None and stored.collection == name:
            log.warning(
                "%s: files have changed since they were verified: fetching the collection again", folder
            )
        if mirror is None and (named := os.environ.get(MIRROR_VARIABLE)):
            mirror = Path(named)
        manifest = work.try_sources(source, mirror)
        return _make_fetch_report(card, data_folder, manifest, fresh=True)


def export_corpus(name: str, data_folder: Path, target: Path) -> Path:
    """Copy a fetched collection to the folder `target`, a mirror for other machines."""
    if find_fetched(name, data_folder) is None:
        raise DataNotAvailableError(f"{name} is not fetched", hint=f"Run `textcat fetch {name}`.")
    folder = locate_corpus(name, data_folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with open_staging(target, f".{name}.") as staging:
            shutil.copytree(folder, staging, dirs_exist_ok=True)
            return install_folder(staging, target / name)
    except OSError as error:
        raise make_write_error(target / name, error) from error


def _find_installed(card: CorpusCard, folder: Path) -> Manifest | None:
    """Return the manifest of an installed collection if its files are unchanged, else None."""
    valid = _read_valid_manifest(card.name, folder)
    if valid is not None and valid != read_manifest(folder):
        _write_if_possible(folder, valid)
    return valid


def _read_valid_manifest(name: str, folder: Path) -> Manifest | None:
    """Return the manifest of a collection whose files are the fetched ones, with their present state, else None.

    Files are read only if one of them was written, replaced or copied since they were last read.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.collection != name:
        return None
    state = read_folder_state(folder)
    if manifest.is_untouched(state):
        return manifest
    if not manifest.has_same_size(state) or _read_change(manifest, folder):
        return None
    return replace(manifest, state=state.digest, contents=manifest.contents or hash_contents(folder))


def _read_change(manifest: Manifest, folder: Path) -> bool:
    """Read all files; return whether their contents differ from those that the manifest was written for."""
    if manifest.contents:
        return hash_contents(folder) != manifest.contents
    return fingerprint_corpus(manifest.collection, folder) != manifest.fingerprint


def verify_fetched(name: str, folder: Path) -> None:
    """Read all files of a fetched collection and raise StageFailedError if one differs from what was fetched.

    The manifest then no longer counts as valid, so that the next run fetches the collection again.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.collection != name or _read_change(manifest, folder):
        if manifest is not None:
            _write_if_possible(folder, replace(manifest, state=""))
        raise make_change_error(folder)


def make_change_error(path: Path) -> StageFailedError:
    """Return the error for documents that are not those whose contents were hashed before they were read."""
    return StageFailedError(
        "the files changed while they were read, or are damaged",
        where=str(path),
        hint="Run the same command again when nothing writes to them; no result was made from them.",
    )


def _write_if_possible(folder: Path, manifest: Manifest) -> None:
    """Write the manifest; in a folder that cannot be written to, the files are hashed again next time."""
    try:
        write_manifest(folder, manifest)
    except StageFailedError as error:
        log.debug("%s", error)


def _make_fetch_report(
    card: CorpusCard, data_folder: Path, manifest: Manifest, *, fresh: bool
) -> FetchReport:
    folder = locate_corpus(card.name, data_folder)
    return FetchReport(**vars(manifest), folder=folder, terms=card.terms, citation=card.citation, fresh=fresh)


@dataclass(frozen=True)
class _FetchJob:
    card: CorpusCard
    data_folder: Path
    offline: bool
    progress: ProgressCallback | None
    retry: RetryPolicy

    def try_sources(self, source: str | Path | None, mirror: Path | None) -> Manifest:
        """Try each source in order and install the first one that verifies."""
        self._remove_leftovers()
        problems: list[tuple[PackageSource, TextcatError]] = []
        for each in self._list_sources(source, mirror):
            try:
                return self._try_source(each)
            except (DataNotAvailableError, BadDataError) as problem:
                problems.append((each, problem))
            except StageFailedError:
                self._remove_downloads()
                raise
            except OSError as problem:
                if is_disk_error(problem):
                    self._remove_downloads()
                    raise make_write_error(Path(problem.filename or self.data_folder), problem) from problem
                unreadable = DataNotAvailableError(
                    problem.strerror or str(problem),
                    where=str(problem.filename or ""),
                    hint="Make it readable and writable, then fetch again.",
                )
                problems.append((each, unreadable))
        raise self._make_failure(problems, named=source is not None)

    def _remove_leftovers(self) -> None:
        """Remove the staging folders of killed runs; the lock excludes other running ones."""
        for left in self.data_folder.glob(f".{self.card.name}.*"):
            shutil.rmtree(left, ignore_errors=True)

    def _remove_downloads(self) -> None:
        """Remove what is left of downloads, also from addresses that were given up."""
        shutil.rmtree(self._locate_downloads(), ignore_errors=True)
        with suppress(OSError):
            self._locate_downloads().parent.rmdir()

    def _list_sources(self, source: str | Path | None, mirror: Path | None) -> Iterator[PackageSource]:
        packages = self.card.packages
        if source is not None:
            yield from self._list_named_sources(source)
            return
        for folder in (locate_corpus(self.card.name, self.data_folder), mirror):
            if folder is not None and folder.is_dir():
                yield from (FolderSource(each, folder, self.card.name) for each in packages)
        if self.offline:
            return
        for each in packages:
            if each.npm is not None:
                yield NpmSource(each, self._locate_downloads())
            elif any(expected.urls for expected in each.files):
                yield WebSource(each, self._locate_downloads(), progress=self.progress, retry=self.retry)

    def _list_named_sources(self, source: str | Path) -> Iterator[PackageSource]:
        address = isinstance(source, str) and "://" in source
        if address and self.offline:
            raise DataNotAvailableError(
                "cannot download with --offline", where=str(source), hint="Omit --offline."
            )
        for each in self.card.packages:
            if address:
                yield WebSource(each, self._locate_downloads(), str(source), self.progress, self.retry)
            elif Path(source).is_file():
                yield ArchiveSource(each, Path(source))
            else:
                yield FolderSource(each, Path(source), self.card.name, named=True)

    def _locate_downloads(self) -> Path:
        return self.data_folder / ".downloads" / self.card.name

    def _try_source(self, source: PackageSource) -> Manifest:
        with open_staging(self.data_folder, f".{self.card.name}.") as staging:
            origin = source.fill(staging)
            manifest = verify_package(self.card, source.package, origin, staging)
            write_manifest(staging, manifest)
            # Before the collection is there: a later fetch finds it and looks no further.
            self._remove_downloads()
            install_folder(staging, locate_corpus(self.card.name, self.data_folder))
            return manifest

    def _make_failure(
        self, problems: list[tuple[PackageSource, TextcatError]], *, named: bool
    ) -> TextcatError:
        tried = [f"  {source.label}: {problem}" for source, problem in problems]
        bad = next((problem for _, problem in problems if isinstance(problem, BadDataError)), None)
        if named and bad is not None:
            return bad
        advice = self.card.by_hand or "Name a folder, a file or an address with --from."
        if self.offline:
            advice = f"Without --offline, the published addresses are tried. {advice}"
        return DataNotAvailableError(
            f"cannot fetch {self.card.title}",
            hint="\n".join([*(["Tried:", *tried] if tried else []), f"Home: {self.card.home}", advice]),
        )
