"""Find the documents of an experiment on this machine, or fetch them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from textcat.corpora import OWN_FORMATS, fetch_corpus, list_corpora, open_corpus
from textcat.corpora.fetch.collection import find_fetched, make_change_error, verify_fetched
from textcat.corpora.registry import fingerprint_corpus, is_own
from textcat.errors import DataNotAvailableError
from textcat.experiment.context import RunContext
from textcat.experiment.spec.experiment import CorpusSettings, Experiment
from textcat.published.printed_tables import load_all_cells


@dataclass(frozen=True)
class DocumentSource:
    """The file or folder with an experiment's documents, the sha256 of its contents, and whether it is new here."""

    path: Path
    fingerprint: str
    fresh: bool = False


def find_documents(experiment: Experiment, context: RunContext) -> DocumentSource | None:
    """Return the experiment's documents if they are on this machine. Download and change nothing."""
    path = locate_documents(experiment, context)
    corpus = experiment.corpus
    if not path.exists() or (is_own(corpus.name) and not (corpus.path and _has_documents(corpus.name, path))):
        return None
    if is_own(corpus.name):
        return DocumentSource(path, _fingerprint_files(corpus, path))
    found = find_fetched(experiment.corpus.name, context.data)
    return DocumentSource(found.folder, found.fingerprint) if found else None


def fetch_documents(experiment: Experiment, context: RunContext) -> DocumentSource:
    """Return the experiment's documents; download a collection that is not on this machine."""
    corpus, path = experiment.corpus, locate_documents(experiment, context)
    if reason := explain_unavailable(corpus.name):
        raise DataNotAvailableError(
            reason,
            where=experiment.name,
            hint="To use your own files, give their format and path in `corpus`.",
        )
    if is_own(corpus.name) and (not corpus.path or not _has_documents(corpus.name, path)):
        raise DataNotAvailableError(
            f"{corpus.name}: there are no documents" if path.exists() else "no such file or folder",
            where=str(path),
            hint="Fix `corpus.path`; it is relative to the experiment file.",
        )
    if is_own(corpus.name):
        return DocumentSource(path, _fingerprint_files(corpus, path))
    report = fetch_corpus(
        corpus.name,
        context.data,
        mirror=context.mirror,
        offline=context.offline,
        progress=context.progress,
    )
    return DocumentSource(report.folder, report.fingerprint, report.fresh)


def _has_documents(form: str, path: Path) -> bool:
    """Return whether a path is a folder or a regular file; reading a pipe would never end."""
    if form not in OWN_FORMATS:
        return path.exists()
    return path.is_dir() if form in ("folders", "rcv1-like") else path.is_file()


def locate_documents(experiment: Experiment, context: RunContext) -> Path:
    """Return where the documents are or will be: `corpus.path`, or the collection's folder below the data folder."""
    corpus = experiment.corpus
    if is_own(corpus.name):
        return experiment.own_documents
    return context.data / corpus.name


def verify_documents(corpus: CorpusSettings, path: Path, fingerprint: str) -> None:
    """Raise StageFailedError unless the files still have the contents with that fingerprint; read them again."""
    if not is_own(corpus.name):
        verify_fetched(corpus.name, path)
    elif _fingerprint_files(corpus, path) != fingerprint:
        raise make_change_error(path)


def _fingerprint_files(corpus: CorpusSettings, path: Path) -> str:
    if corpus.name not in OWN_FORMATS:
        return open_corpus(corpus.name, path, split=corpus.split or None, **corpus.options).fingerprint()
    return fingerprint_corpus(corpus.name, path, **corpus.options)


def explain_unavailable(corpus: str) -> str:
    """Return why a collection that a paper used is not available, or an empty text."""
    if corpus in list_corpora():
        return ""
    reasons = {cell.needs: cell.cannot_run for cell in load_all_cells() if cell.cannot_run}
    return reasons.get(corpus) or ""
