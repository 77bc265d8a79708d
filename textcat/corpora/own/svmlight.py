"""A user's own vectors in svmlight's format, with several labels a line: `LABEL,LABEL TERM:WEIGHT ...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from textcat.corpora.manifest import combine_hashes
from textcat.corpora.splits import draw_split_masks
from textcat.corpora.vector_files import VectorCorpus, make_label_matrix, read_vector_lines
from textcat.errors import DataNotAvailableError
from textcat.store.files import hash_file


def open_svmlight(
    path: Path,
    *,
    test: str | Path | None = None,
    categories: Sequence[str] | None = None,
    ratio: float | None = 4,
    seed: int = 0,
) -> VectorCorpus:
    """Read one file; `test` names a second one with the test documents, or else they are drawn by seed.

    With `ratio` None all documents are training ones. Labels beyond `categories`, when given, are left out.
    """
    paths = [path, *([Path(test)] if test is not None else [])]
    for each in paths:
        if not each.is_file():
            raise DataNotAvailableError(
                "there is no such file", where=str(each), hint="Mend `corpus.path` or `test`."
            )
    training_lines = read_vector_lines(paths[:1])
    lines = read_vector_lines(paths) if test is not None else training_lines
    number = len(lines.heads)
    training = np.arange(number) < len(training_lines.heads)
    if test is None and ratio is not None:
        (training,) = draw_split_masks(number, seed=seed, ratio=ratio)
    labels = [[label for label in head.split(",") if label] for head in lines.heads]
    known = (
        tuple(sorted({label for found in labels for label in found})) if categories is None else categories
    )
    return VectorCorpus(
        name="svmlight",
        X=lines.X,
        Y=make_label_matrix(labels, known),
        ids=tuple(str(row + 1) for row in range(number)),
        split=np.where(training, "train", "test"),
        categories=tuple(known),
        terms=tuple(str(column + 1) for column in range(lines.X.shape[1])),
        contents_sha256=combine_hashes((str(place), hash_file(each)) for place, each in enumerate(paths)),
    )
