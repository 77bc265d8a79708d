"""Read folders of documents: one for each class, in folders of training and test documents or not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from textcat.corpora.document import require_choice
from textcat.corpora.document_tree import DocumentTree
from textcat.corpora.own.tables import Problems, TableRow, choose_codec
from textcat.corpora.sides import side_named
from textcat.errors import BadDataError

SAME_NAMES = ("apart", "one")


class FolderDocument(NamedTuple):
    """One document: the files that hold it, its labels, and its side (or the folder's name if that is no side)."""

    files: tuple[str, ...]
    labels: tuple[str, ...]
    side: str


def list_folder_documents(tree: DocumentTree, *, sided: bool, same_name: str) -> list[FolderDocument]:
    """Return the documents of a tree, in the order of their first files.

    sided: the first level of folders are sides and the second are classes.
    same_name: with "one", files of one name in several classes are one document with all these labels.
    """
    require_choice("same_name", same_name, SAME_NAMES)
    found: dict[tuple[str, str], list[str]] = {}
    for name in tree.names:
        parts = name.split("/")
        if len(parts) < 2 + sided:
            continue
        side = (side_named(parts[0]) or parts[0]) if sided else ""
        own = "/".join(parts[1 + sided :]) if same_name == "one" else name
        found.setdefault((side, own), []).append(name)
    return [
        FolderDocument(
            tuple(names), tuple(dict.fromkeys(name.split("/")[int(sided)] for name in names)), side
        )
        for (side, _), names in found.items()
    ]


def read_folder_rows(
    tree: DocumentTree,
    documents: Sequence[FolderDocument],
    text: str,
    label: str,
    encoding: str,
    problems: Problems,
) -> Iterator[TableRow]:
    """Yield a row for each document; raise BadDataError if the files of one document differ."""
    contents = tree.contents([name for document in documents for name in document.files])
    for document in documents:
        first, *others = (next(contents) for _ in document.files)
        name = document.files[0]
        if any(other != first for other in others):
            raise BadDataError(
                f"the files {', '.join(document.files)} differ",
                where=str(tree.folder),
                hint="Remove `same_name: one`: they are different documents.",
            )
        read = _decode(first, f"{tree.folder}/{name}", encoding, problems)
        if read is not None:
            values = {"id": name, text: read, label: list(document.labels), "side": document.side}
            yield TableRow(f"{tree.folder}/{name}", values)


def _decode(content: bytes, where: str, encoding: str, problems: Problems) -> str | None:
    codec = choose_codec(encoding)
    try:
        return content.decode(codec)
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        if problems.report("encoding", f"a byte is not {encoding}", f"{where}:{line}") == "skip":
            return None
        return content.decode(codec, errors="replace")
