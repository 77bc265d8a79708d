"""A corpus that is mapped from files trains as one in memory does, and needs little memory of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from textcat.linear import fit
from textcat.linear import mapped_arrays as mapped
from textcat.linear.fast import layout as order
from textcat.linear.fast.layout import make_visiting_order
from textcat.linear.mapped_arrays import (
    allocate_like,
    append_constant,
    convert_to_columns,
    is_mapped,
)
from textcat.store.arrays import read_matrix, write_matrix

PAIRS = [("squared_hinge", "gaussian"), ("logistic", "gaussian"), ("logistic", "laplace")]


@pytest.fixture
def few_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces and regions so small that a test has many of them."""
    monkeypatch.setattr(mapped, "ENTRIES_PER_PIECE", 37)
    monkeypatch.setattr(order, "ENTRIES_PER_REGION", 100)
    monkeypatch.setattr(order, "fits_into_memory", lambda entries: False)


def documents(rows: int = 120) -> tuple[sp.csr_array, np.ndarray]:
    matrix = sp.csr_array(sp.random(rows, 40, density=0.15, format="csr", random_state=2))
    return matrix, np.random.default_rng(0).random((rows, 5)) < 0.3


@pytest.mark.usefixtures("few_entries")
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize(("loss", "prior"), PAIRS)
def test_mapped_or_read_is_the_same(tmp_path: Path, loss: str, prior: str, bias: float) -> None:
    X, Y = documents()
    write_matrix(tmp_path, "X", X)
    settings = {"loss": loss, "prior": prior, "lam": 0.003, "algorithm": "fast", "bias": bias}
    read = fit(read_matrix(tmp_path, "X"), Y, **settings)
    on_disk = fit(read_matrix(tmp_path, "X", mapped=True), Y, **settings)
    assert np.array_equal(read.coef, on_disk.coef)
    assert all(each.reason == "optimality" for each in on_disk.certificate)


@pytest.mark.parametrize("algorithm", ["column", "row", "conjugate_gradient"])
def test_every_algorithm_takes_mapped_documents(tmp_path: Path, algorithm: str) -> None:
    X, Y = documents()
    write_matrix(tmp_path, "X", X)
    settings = {"lam": 0.01, "algorithm": algorithm, "bias": 0.0}
    read = fit(X, Y, **settings)
    assert np.array_equal(fit(read_matrix(tmp_path, "X", mapped=True), Y, **settings).coef, read.coef)


@pytest.mark.usefixtures("few_entries")
def test_what_is_derived_is_mapped_and_equal(tmp_path: Path) -> None:
    X, _ = documents()
    X = sp.csr_array(sp.vstack([X[:3], sp.csr_array((2, 40)), X[3:], sp.csr_array((1, 40))], format="csr"))
    write_matrix(tmp_path, "X", X)
    rows = read_matrix(tmp_path, "X", mapped=True)
    wider = append_constant(rows, 2.0)
    assert is_mapped(wider.data)
    assert is_mapped(wider.indices)
    assert np.array_equal(wider.toarray(), np.hstack([X.toarray(), np.full((X.shape[0], 1), 2.0)]))
    columns = convert_to_columns(rows.indptr, rows.indices, rows.data, 40)
    assert is_mapped(columns.data)
    assert np.array_equal(columns.toarray(), X.toarray())
    assert not is_mapped(allocate_like(X.data, 5, np.float64))


@pytest.mark.usefixtures("few_entries")
def test_documents_are_visited_once_and_region_by_region() -> None:
    indptr = np.arange(0, 10_010, 10)
    visits = make_visiting_order(np.random.default_rng(1), np.arange(1000), indptr)
    assert np.array_equal(np.sort(visits), np.arange(1000))
    regions = indptr[visits] // 100
    assert np.count_nonzero(np.diff(regions)) == 99
    assert not np.array_equal(regions, np.sort(regions))
    some = make_visiting_order(np.random.default_rng(1), np.array([4, 990, 7, 13]), indptr)
    assert sorted(some) == [4, 7, 13, 990]


def test_an_entry_that_is_not_finite_is_refused_in_any_piece(tmp_path: Path) -> None:
    X, Y = documents()
    X.data[-1] = np.nan
    write_matrix(tmp_path, "X", X)
    with pytest.raises(Exception, match="not finite"):
        fit(read_matrix(tmp_path, "X", mapped=True), Y, algorithm="fast")


LIMITED = """
import resource, sys
from pathlib import Path
import numpy as np
from textcat.linear import fit
from textcat.linear.cross_validation import score_held_out_folds
from textcat.store.arrays import read_matrix

folder, way, prior = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
Y = np.arange(20_000)[:, None] % np.array([2, 5]) == 0
settings = {"prior": prior, "algorithm": "fast", "tol": 0.01}

def work(X):
    labels, part = Y[: X.shape[0]], np.arange(X.shape[0]) % 2
    model = fit(X, labels, lam=0.02, **settings)
    folds = [(np.flatnonzero(part != one), np.flatnonzero(part == one)) for one in (0, 1)]
    scores = score_held_out_folds(X, labels, folds, [0.02, 0.02], init=model, **settings)
    return model, sum(len(each) for each in scores)

work(read_matrix(folder, "small", mapped=True))
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
allowed = int(status["VmData"].split()[0]) * 1024 + 60_000_000
resource.setrlimit(resource.RLIMIT_DATA, (allowed, allowed))
model, scored = work(read_matrix(folder, "X", mapped=way == "mapped"))
print("trained", sum(each.reason == "optimality" for each in model.certificate), "scored", scored)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the limit is Linux's")
@pytest.mark.parametrize("prior", ["gaussian", "laplace"])
def test_training_and_folds_need_less_memory_than_their_documents(tmp_path: Path, prior: str) -> None:
    """The documents take 72 megabytes, their copies more, and the process may have 60 megabytes of its own."""
    generator = np.random.default_rng(0)
    positions = (np.arange(6_000_000, dtype=np.int32) % 300) * 3 + generator.integers(
        0, 3, 6_000_000, np.int32
    )
    starts = np.arange(0, 6_000_001, 300, dtype=np.int32)
    X = sp.csr_array((generator.random(6_000_000) / 10 + 0.01, positions, starts), shape=(20_000, 900))
    write_matrix(tmp_path, "X", X)
    write_matrix(tmp_path, "small", X[:100])
    done = {
        way: subprocess.run(
            [sys.executable, "-c", LIMITED, str(tmp_path), way, prior],
            capture_output=True,
            text=True,
            check=False,
        )
        for way in ("mapped", "read")
    }
    assert done["mapped"].stdout == "trained 2 scored 20000\n", done["mapped"].stderr[-400:]
    assert done["read"].returncode != 0
    assert "MemoryError" in done["read"].stderr
