"""Plugins that return wrong types, NaN or changed arguments: one message that names the package, or no difference."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from textcat import plugins
from textcat.cli.main import group
from textcat.corpora import Document
from textcat.errors import TextcatError
from textcat.linear import Algorithm, BlockResult, Loss, Options, PenaltyShape
from textcat.plugins import Plugin

MEAN = {"loss": "bad", "lam": 1e-3, "algorithm": "conjugate_gradient", "passes": 5}
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "corpora": {"corpus": {"name": "bad", "path": "documents.csv"}},
    "tokenizers": {"text": {"fields": ["text"], "tokenizer": "bad"}},
    "selection_scores": {"selection": {"score": "bad", "features": 3}},
    "thresholds": {"threshold": {"rule": "bad"}},
    "measures": {"evaluation": {"measures": ["bad"]}},
    "losses": {"runs": {"one": {"learner": "linear", "parameters": MEAN}}},
    "priors": {"runs": {"one": {"learner": "linear", "parameters": {**MEAN, "loss": "logistic", "prior": "bad"}}}},
    "algorithms": {
        "runs": {"one": {"learner": "linear", "parameters": {"loss": "logistic", "algorithm": "bad", "lam": 1e-3}}}
    },
}  # fmt: skip


def documents(**changes: Any) -> list[Document]:
    """Twelve documents of two categories; each change replaces a part of the fifth."""
    made = []
    for number in range(12):
        label = "grain" if number % 2 else "metal"
        parts: dict[str, Any] = {
            "id": str(number),
            "fields": {"text": f"{'wheat' if number % 2 else 'gold'} trade {number}"},
            "labels": (label,),
            "split": "train" if number < 8 else "test",
        }
        made.append(Document(**(parts | changes if number == 4 else parts)))
    return made


def corpus(
    found: Callable[[], Any] = documents, categories: Any = ("grain", "metal"), fingerprint: Any = "a" * 64
) -> Any:
    """A collection with these parts."""

    class Collection:
        name = "bad"

        def __init__(self, path: Path) -> None:
            self.categories = categories

        def documents(self) -> Any:
            return iter(found())

        def fingerprint(self) -> Any:
            return fingerprint

    return Collection


def changing(result: Callable[..., Any]) -> Callable[..., Any]:
    """A function that overwrites its arguments."""

    def function(*arguments: Any) -> Any:
        for argument in arguments:
            values = argument if isinstance(argument, np.ndarray) else getattr(argument, "data", None)
            if isinstance(values, np.ndarray) and values.size:
                values[...] = 1
        return result(*arguments)

    return function


def loss(value: Any, derivative: Any = None) -> Loss:
    return Loss("bad", value, derivative or value, None, 1.0, 1.0)


def logistic(r: Any) -> Any:
    return np.log1p(np.exp(-r))


def slope(r: Any) -> Any:
    return -1 / (1 + np.exp(r))


def solve(weights: Callable[[Any], Any], certificates: Callable[[Any], Any] = list) -> Algorithm:
    def run(problem: Any, block: Any, options: Any, start: Any) -> Any:
        return BlockResult(weights(start), certificates(start))

    return Algorithm(run, Options)


BAD: list[tuple[str, str, Any]] = [
    ("tokenizers", "none", lambda text: None),
    ("tokenizers", "text", lambda text: text),
    ("tokenizers", "numbers", lambda text: [1, 2]),
    ("tokenizers", "bytes", lambda text: text.encode().split()),
    ("tokenizers", "one word", lambda text: [*text.split(), None]),
    ("tokenizers", "half a pair", lambda text: ["\ud800"]),
    ("selection_scores", "none", lambda X, Y: None),
    ("selection_scores", "words", lambda X, Y: [["a"] * Y.shape[1]] * X.shape[1]),
    ("selection_scores", "shape", lambda X, Y: np.zeros((Y.shape[1], X.shape[1]))),
    ("selection_scores", "nan", lambda X, Y: np.full((X.shape[1], Y.shape[1]), np.nan)),
    ("selection_scores", "complex", lambda X, Y: np.full((X.shape[1], Y.shape[1]), 1j)),
    ("selection_scores", "changing", changing(lambda X, Y: np.zeros((X.shape[1], Y.shape[1])))),
    ("thresholds", "none", lambda scores, labels, settings: None),
    ("thresholds", "words", lambda scores, labels, settings: ["a", "b"]),
    ("thresholds", "one", lambda scores, labels, settings: 0.5),
    ("thresholds", "nan", lambda scores, labels, settings: [np.nan, 0]),
    ("thresholds", "complex", lambda scores, labels, settings: [1j, 0]),
    ("thresholds", "ragged", lambda scores, labels, settings: [[1, 2], [1]]),
    ("thresholds", "changing", changing(lambda scores, labels, settings: [0.0, 0.0])),
    ("measures", "none", lambda scores, decisions, labels: None),
    ("measures", "text", lambda scores, decisions, labels: "0.5"),
    ("measures", "array", lambda scores, decisions, labels: np.zeros(2)),
    ("measures", "complex", lambda scores, decisions, labels: 1j),
    ("measures", "changing", changing(lambda scores, decisions, labels: 1.0)),
    ("losses", "none", loss(lambda r: None)),
    ("losses", "nan", loss(lambda r: r * np.nan)),
    ("losses", "shape", loss(lambda r: np.zeros(3))),
    ("losses", "one number", loss(lambda r: 1.0)),
    ("losses", "infinite", loss(lambda r: np.full_like(r, np.inf))),
    ("losses", "complex", loss(lambda r: r * 1j)),
    ("losses", "changing", loss(changing(logistic), changing(slope))),
    ("priors", "none", PenaltyShape(lambda w: None, lambda w: None)),
    ("priors", "nan", PenaltyShape(lambda w: w * np.nan, lambda w: w * np.nan)),
    ("priors", "shape", PenaltyShape(lambda w: np.zeros(1), lambda w: np.zeros(1))),
    ("priors", "changing", PenaltyShape(changing(lambda w: w * w), changing(lambda w: 2 * w))),
    ("algorithms", "none", Algorithm(lambda *_: None, Options)),
    ("algorithms", "nothing", solve(lambda start: None)),
    ("algorithms", "nan", solve(lambda start: np.full(start.shape, np.nan))),
    ("algorithms", "shape", solve(lambda start: np.zeros((3, 7)))),
    ("algorithms", "words", solve(lambda start: np.full(start.shape, "a"))),
    ("algorithms", "complex", solve(lambda start: np.full(start.shape, 1j))),
    ("algorithms", "certificates", solve(lambda start: np.zeros(start.shape))),
    ("corpora", "fingerprint", corpus(fingerprint=None)),
    ("corpora", "empty fingerprint", corpus(fingerprint="")),
    ("corpora", "categories", corpus(categories=None)),
    ("corpora", "text as categories", corpus(categories="grain")),
    ("corpora", "numbers as categories", corpus(categories=(1, 2))),
    ("corpora", "twice", corpus(categories=("grain", "grain", "metal"))),
    ("corpora", "no documents", corpus(lambda: None)),
    ("corpora", "tuples", corpus(lambda: [("1", {}, (), "train")])),
    ("corpora", "id", corpus(lambda: documents(id=4))),
    ("corpora", "no text", corpus(lambda: documents(fields={"text": None}))),
    ("corpora", "fields", corpus(lambda: documents(fields="wheat"))),
    ("corpora", "text as labels", corpus(lambda: documents(labels="grain"))),
    ("corpora", "labels", corpus(lambda: documents(labels=(1,)))),
    ("corpora", "side", corpus(lambda: documents(split="dev"))),
    ("corpora", "same id", corpus(lambda: documents(id="3"))),
    ("corpora", "half a pair", corpus(lambda: documents(fields={"text": "\ud800"}))),
    ("corpora", "half a pair in a label", corpus(lambda: documents(labels=("\ud800",)))),
]  # fmt: skip


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], None]:
    """Offer an object as the plugin `bad` of a kind."""

    def offer(kind: str, thing: Any) -> None:
        class Entry(EntryPoint):
            def load(self) -> Any:
                return thing

        plugin = Plugin(kind, "bad", "bad-package", "1.0", Entry("bad", "bad:thing", f"textcat.{kind}"))
        monkeypatch.setattr(plugins, "list_plugins", lambda asked: (plugin,) if asked == kind else ())

    return offer


def run(folder: Path, kind: str) -> Any:
    rows = [f"{each.fields['text']},{each.labels[0]},{each.split}" for each in documents()]
    (folder / "documents.csv").write_text("\n".join(["text,label,side", *rows]) + "\n")
    experiment = {
        "title": "bad",
        "corpus": {"name": "csv", "path": "documents.csv", "options": {"side": "side"}},
        "text": {"fields": ["text"]},
        "runs": {
            "one": {"learner": "linear", "parameters": {"loss": "logistic", "algorithm": "fast", "lam": 1e-3}}
        },
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(experiment | EXPERIMENTS[kind]))
    where = ["--data", str(folder / "data"), "--results", str(folder / "results"), "-j", "1"]
    return CliRunner().invoke(group, ["run", str(folder / "mine.yaml"), *where])


@pytest.mark.parametrize(
    ("kind", "thing"), [(kind, thing) for kind, _, thing in BAD], ids=[f"{kind}: {name}" for kind, name, _ in BAD]
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_breaks_the_contract_is_one_message(
    tmp_path: Path, use: Callable[[str, Any], None], kind: str, thing: Any
) -> None:
    use(kind, thing)
    result = run(tmp_path, kind)
    assert isinstance(result.exception, TextcatError), (result.exception, result.output)
    assert "bad-package 1.0" in str(result.exception)
    assert result.exception.exit_code == 4
    assert result.exception.hint
    assert not list((tmp_path / "results").rglob("results.json"))


GOOD: dict[str, Any] = {
    "tokenizers": lambda text: tuple(text.split()),
    "selection_scores": lambda X, Y: [[0] * Y.shape[1]] * X.shape[1],
    "thresholds": lambda scores, labels, settings: (0, 1),
    "measures": lambda scores, decisions, labels: np.float32(0.5),
    "losses": loss(logistic, slope),
    "priors": PenaltyShape(lambda w: w * w, lambda w: 2 * w),
    "corpora": corpus(categories=["grain", "metal"]),
}


@pytest.mark.parametrize("kind", GOOD)
def test_what_keeps_the_contract_is_used(tmp_path: Path, use: Callable[[str, Any], None], kind: str) -> None:
    use(kind, GOOD[kind])
    result = run(tmp_path, kind)
    assert result.exit_code == 0, (result.exception, result.output)
    found = json.loads(next((tmp_path / "results").rglob("results.json")).read_text())
    assert "bad-package 1.0" in json.dumps(found)


def test_labels_beside_the_categories_are_reported(
    tmp_path: Path, use: Callable[[str, Any], None], caplog: pytest.LogCaptureFixture
) -> None:
    use("corpora", corpus(lambda: documents(labels=("grain", "oil"))))
    result = run(tmp_path, "corpora")
    assert result.exit_code == 0
    assert "'oil'" in result.output
