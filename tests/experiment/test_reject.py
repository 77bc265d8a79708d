"""Documents that belong to no class, from the settings to results and predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from tests.experiment.own_table import WORDS, carried_out, table
from textcat.cli.model_commands import predict_command
from textcat.errors import UsageError
from textcat.experiment.run.results import collect_results
from textcat.report.diagnostics import diagnose_runs
from textcat.report.writer import write_report
from textcat.serving.categorizer import read_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.export import export_models
from textcat.store.arrays import read_mask

RUN = {
    "learner": "linear",
    "parameters": {"loss": "logistic", "cost": 10},
    "calibration": {"method": "temperature"},
}


def add_documents_out_of_scope(folder: Path, split: str, number: int = 40) -> None:
    """Documents with words of no class."""
    path = table(folder, documents=240, single=True)
    draw = np.random.default_rng(5)
    lines = [
        f"x{split}{k},{' '.join(draw.choice(WORDS[20:], 4))} {' '.join(draw.choice(WORDS[:15], 2))},oos,{split}"
        for k in range(number)
    ]
    path.write_text(path.read_text() + "\n".join(lines) + "\n")


def run_with(folder: Path, reject: dict[str, Any], **more: Any) -> Any:
    settings = {"runs": {"one": RUN | more}, "corpus": {"single_label": True}, "reject": reject}
    plan, context, _ = carried_out(folder, settings, single=True)
    return plan, context, collect_results(plan, context)


@pytest.mark.parametrize("split", ["train", "test"])
def test_documents_out_of_scope_are_rejected_and_measured(tmp_path: Path, split: str) -> None:
    add_documents_out_of_scope(tmp_path, "test")
    if split == "train":
        both = (tmp_path / "documents.csv").read_text()
        add_documents_out_of_scope(tmp_path, "train")
        extra = [line for line in both.splitlines() if line.startswith("xtest")]
        (tmp_path / "documents.csv").write_text(
            (tmp_path / "documents.csv").read_text() + "\n".join(extra) + "\n"
        )
    plan, context, results = run_with(tmp_path, {"label": "oos", "coverage": 0.9})
    measures = results["runs"]["one"]["measures"]
    none = run_with(tmp_path, {"label": "oos", "coverage": 1.0})[2]["runs"]["one"]["measures"]
    assert measures["reject.out_of_scope_recall"] >= 75
    if split == "test":
        assert none["reject.out_of_scope_recall"] == 0
    assert measures["reject.answered"] < none["reject.answered"]
    assert none["reject.threshold"] == 0
    decisions = read_mask(plan.chains[0].evaluated.build_folder(context), "decisions")
    assert (decisions.sum(axis=1) == 1).all()
    write_report(tmp_path / "report", results, [], {}, diagnose_runs(plan, context, results["runs"]))
    text = (tmp_path / "report" / "table.md").read_text()
    assert "out-of-scope recall" in text
    assert (tmp_path / "report" / "figures" / "risk_coverage.svg").is_file()
    page = (tmp_path / "report" / "report.html").read_text()
    assert "break-even" not in page


def test_predictions_are_those_of_the_evaluation(tmp_path: Path) -> None:
    table(tmp_path, documents=240, single=True)
    plan, context, results = run_with(tmp_path, {"coverage": 0.8})
    decisions = read_mask(plan.chains[0].evaluated.build_folder(context), "decisions")
    assert 0 < decisions.any(axis=1).sum() < len(decisions)
    assert results["runs"]["one"]["measures"]["reject.out_of_scope_recall"] is None
    (folder,) = export_models(plan, context, tmp_path / "models")
    categorizer = read_categorizer(Path(folder))
    rows = [line.split(",") for line in (tmp_path / "documents.csv").read_text().splitlines()[1:]]
    texts = [NewDocument(row[0], {"text": row[1]}) for row in rows if row[3] == "test"]
    scores = categorizer.scores(texts)
    assert np.array_equal(categorizer.decisions(scores), decisions)
    everything = categorizer.reject_below(0.0)
    assert everything.decisions(scores).any(axis=1).all()
    assert not categorizer.reject_below(1.0).decisions(scores).any()


def test_predict_takes_a_threshold(tmp_path: Path) -> None:
    table(tmp_path, documents=240, single=True)
    plan, context, _ = run_with(tmp_path, {"coverage": 0.9})
    (folder,) = export_models(plan, context, tmp_path / "models")

    def label(*options: str) -> list[str]:
        (tmp_path / "new.txt").write_text("bala bele zzz\nzzz\n")
        done = CliRunner().invoke(predict_command, [str(folder), str(tmp_path / "new.txt"), *options])
        assert done.exit_code == 0, done.output
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return [json.loads(line)["labels"] for line in lines]

    assert label("--reject", "0") == [["red"], label("--reject", "0")[1]]
    assert label("--reject", "1") == [[], []]
    # A document without a known word has no clear class.
    assert label("--reject", "0.6")[1] == []


def test_reject_needs_probabilities_of_one_label(tmp_path: Path) -> None:
    table(tmp_path, single=True)
    with pytest.raises(UsageError, match="needs probabilities"):
        several = RUN | {"calibration": {"method": "platt"}}
        carried_out(tmp_path, {"runs": {"one": several}, "reject": {"coverage": 0.9}}, single=True)
    bare = {key: value for key, value in RUN.items() if key != "calibration"}
    with pytest.raises(UsageError, match="calibration"):
        carried_out(
            tmp_path,
            {"runs": {"one": bare}, "corpus": {"single_label": True}, "reject": {}},
            single=True,
        )


def test_a_model_without_probabilities_cannot_reject(tmp_path: Path) -> None:
    table(tmp_path, single=True)
    hinge = {"learner": "linear", "parameters": {"loss": "squared_hinge", "cost": 1}}
    plan, context, _ = carried_out(
        tmp_path, {"runs": {"one": hinge}, "corpus": {"single_label": True}}, single=True
    )
    (folder,) = export_models(plan, context, tmp_path / "models")
    with pytest.raises(UsageError, match="cannot reject"):
        read_categorizer(Path(folder)).reject_below(0.5)
