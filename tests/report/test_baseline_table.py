"""The section of published baselines in the matrix: our numbers, the run, and its settings."""

from __future__ import annotations

import json
from pathlib import Path

from textcat.report.comparison_tables import baselines_as_markdown, list_baseline_rows, summarize_baselines
from textcat.report.gate import find_results, judge_baselines
from textcat.report.matrix import write_matrix

RESULTS = Path(__file__).resolve().parents[2] / "results" / "practice"


def test_each_mark_is_next_to_our_number_its_run_and_settings() -> None:
    results = find_results([RESULTS / "clinc150"])
    summary = summarize_baselines(judge_baselines(results, everything=False), results)
    rows = list_baseline_rows(summary["collections"][0])
    signature = results["practice/clinc150"]["runs"]["words"]["signature"]
    settings = "linear (algorithm fast, cost 1, loss squared_hinge); unicode words; log_tf_idf, cosine"
    assert rows[0] == [
        "in-scope accuracy", "linear SVM", "91.0", "90.8", "-0.2", "below", "words", f"{settings} ({signature})"
    ]  # fmt: skip
    assert rows[1][3:6] == ["93.2", "+2.2", "above"]
    assert "word 1-2-grams and char_wb 2-5-grams" in rows[1][-1]


def test_the_matrix_has_them_apart_from_the_papers(tmp_path: Path) -> None:
    results = find_results([RESULTS / "clinc150", RESULTS / "eurlex57k", RESULTS / "eurlex57k_tuned"])
    without, matrix = write_matrix(tmp_path, {}), write_matrix(tmp_path, results)
    assert matrix["totals"] == without["totals"]
    assert matrix["baselines"]["counts"]["not run"] == 0 < without["baselines"]["counts"]["not run"]
    kept = json.loads((tmp_path / "reproduction.json").read_text())
    assert kept["baselines"]["counts"] == matrix["baselines"]["counts"]
    text = (tmp_path / "reproduction.md").read_text()
    section = "\n".join(baselines_as_markdown(matrix["baselines"]))
    assert section in text
    assert (
        text.index("## zhang_2000.text")
        < text.index("## Published baselines of today")
        < text.index("## Conclusions")
    )
    page = (tmp_path / "reproduction.html").read_text()
    for each in matrix["baselines"]["collections"]:
        for row in list_baseline_rows(each):
            assert all(f">{cell}</td>" in page for cell in row[:6])
