"""Files of generated vectors with many labels, for `labels`: matrices, and the text format of omikuji."""

from __future__ import annotations

from pathlib import Path

import scipy.sparse as sp

from benchmarks.generate import ManyLabels, write_svmlight
from textcat.errors import BadDataError


def write_many_labels(folder: Path, data: ManyLabels) -> None:
    """Write the matrices, and the training documents in the text format of omikuji."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("X", "Y", "held_rows", "held_labels"):
        sp.save_npz(folder / f"{name}.npz", getattr(data, name), compressed=False)
    with (folder / "train.txt").open("w", encoding="ascii") as out:
        out.write(f"{data.X.shape[0]} {data.X.shape[1]} {data.Y.shape[1]}\n")
        write_svmlight(out, data.X, data.Y, first=0)


def read_many_labels(folder: Path) -> ManyLabels:
    """Read the matrices that `write_many_labels` wrote."""
    try:
        parts = [
            sp.csr_matrix(sp.load_npz(folder / f"{name}.npz"))
            for name in ("X", "Y", "held_rows", "held_labels")
        ]
    except (OSError, ValueError) as error:
        raise BadDataError(f"not readable: {error}", where=str(folder), hint="Generate it again.") from error
    return ManyLabels(*parts)
