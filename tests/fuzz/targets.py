"""One function for each format that strangers may bring: bytes in, documented errors or sound data out."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from textcat.corpora.collection_files import PACKED_FILE
from textcat.corpora.collections.ohsumed import read_medline_records
from textcat.corpora.collections.rcv1 import Rcv1, Rcv1Split, read_qrels
from textcat.corpora.collections.reuters21578 import Reuters21578
from textcat.corpora.collections.webkb import WebKB
from textcat.corpora.own.documents import OwnDocuments
from textcat.corpora.vector_files import open_svmlight
from textcat.errors import BadDataError, TextcatError
from textcat.experiment.spec.loading import check_mapping, validate_experiment
from textcat.serving.document_files import InputFormat, read_documents
from textcat.store import hash_json
from textcat.yaml_reader import parse_yaml

Target = Callable[[bytes, Path], None]


class UndocumentedError(Exception):
    """A reader answered with something that no message to a person explains."""


def examine(name: str, data: bytes, scratch: Path) -> str:
    """Feed a target; the documented error's message, or nothing where the input was accepted."""
    try:
        TARGETS[name](data, scratch)
    except TextcatError as error:
        if not error.where or not error.what:
            raise UndocumentedError(f"an error without its place: {error!r}") from error
        str(error).encode()
        return str(error)
    return ""


def _placed(data: bytes, scratch: Path, name: str) -> Path:
    path = scratch / name
    path.write_bytes(data)
    return path


def _sound(documents: Iterable[Any]) -> None:
    """What every document that comes through must be: text that can be written again."""
    for document in documents:
        if document.split not in ("train", "test", "unused"):
            raise UndocumentedError(f"side {document.split!r}")
        for text in (document.id, *document.fields.values(), *document.labels):
            text.encode()


def sgml(data: bytes, scratch: Path) -> None:
    """A reut2-NNN.sgm file."""
    _placed(data, scratch, "reut2-000.sgm")
    _sound(Reuters21578(scratch).documents())


def reuters_json(data: bytes, scratch: Path) -> None:
    """A reuters-NNN.json file."""
    _placed(data, scratch, "reuters-000.json")
    _sound(Reuters21578(scratch).documents())


def medline(data: bytes, scratch: Path) -> None:
    """An OHSUMED file of MEDLINE records."""
    for record in read_medline_records(_placed(data, scratch, "ohsumed")):
        for text in (record.number, record.title, record.abstract, *record.mesh):
            text.encode()
        if not 1900 <= record.year <= 1999:
            raise UndocumentedError(f"year {record.year}")


def tokens(data: bytes, scratch: Path) -> None:
    """An LYRL2004 token file, beside labels for two of its documents."""
    _placed(data, scratch, "lyrl2004_tokens_train.dat")
    _placed(b"C15 2286 1\nCCAT 2287 1\n", scratch, "rcv1-v2.topics.qrels")
    _sound(Rcv1(scratch).documents())


def qrels(data: bytes, scratch: Path) -> None:
    """RCV1-v2's labels by document, and the split that is drawn from their numbers."""
    found = read_qrels(_placed(data, scratch, "rcv1-v2.topics.qrels"))
    sides = Rcv1Split("lyrl2004-sample", tuple(found), 2004)
    for number, labels in found.items():
        if not labels or sides.of(number) not in ("train", "test", "unused"):
            raise UndocumentedError(f"{number!r} has {labels!r}")


def svmlight(data: bytes, scratch: Path) -> None:
    """Labelled vectors in svmlight's format."""
    corpus = open_svmlight(_placed(data, scratch, "vectors.svm"))
    corpus.X.check_format(full_check=True)
    if not np.isfinite(corpus.X.data).all():
        raise UndocumentedError("a weight that is not finite")
    if corpus.Y.shape != (corpus.X.shape[0], len(corpus.categories)):
        raise UndocumentedError("labels and vectors do not fit")


def html(data: bytes, scratch: Path) -> None:
    """A page of WebKB."""
    page = scratch / "pages" / "course" / "cornell" / "page"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_bytes(data)
    _sound(WebKB(scratch / "pages").documents())


def packed(data: bytes, scratch: Path) -> None:
    """The pages of WebKB in one zip file."""
    (scratch / "packed").mkdir(exist_ok=True)
    corpus = WebKB(_placed(data, scratch / "packed", PACKED_FILE).parent)
    _sound(corpus.documents())
    corpus.fingerprint()


def _own(kind: str) -> Target:
    def read(data: bytes, scratch: Path) -> None:
        _sound(OwnDocuments(kind, _placed(data, scratch, f"own.{kind}")).documents())
        # Lines with prefixed labels have no column for the side.
        side = None if kind == "fasttext" else "side"
        _sound(OwnDocuments(kind, scratch / f"own.{kind}", ratio=None, side=side).documents())

    return read


def _new(form: InputFormat) -> Target:
    def read(data: bytes, scratch: Path) -> None:
        name, fields = f"new.{form}", ("title", "body")
        skipped: list[BadDataError] = []
        kept = list(read_documents(io.BytesIO(data), form, name, fields, skipped.append))
        _sound(kept)
        # Without skipping, the documents are the same, or the first broken one is an error.
        strict = list(read_documents(io.BytesIO(data), form, name, fields))
        if skipped or strict != kept:
            raise UndocumentedError(f"{len(skipped)} were skipped of {len(strict)} sound documents")

    return read


def yaml(data: bytes, scratch: Path) -> None:
    """An experiment file; what is accepted can be made into keys of artifacts."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    experiment = validate_experiment(check_mapping(parse_yaml(text, Path("e.yaml"))))
    hash_json(experiment.model_dump(mode="json"))


TARGETS: dict[str, Target] = {
    "sgml": sgml,
    "reuters_json": reuters_json,
    "medline": medline,
    "tokens": tokens,
    "qrels": qrels,
    "svmlight": svmlight,
    "html": html,
    "packed": packed,
    "csv": _own("csv"),
    "jsonl": _own("jsonl"),
    "fasttext": _own("fasttext"),
    "new_csv": _new("csv"),
    "new_jsonl": _new("jsonl"),
    "yaml": yaml,
}
