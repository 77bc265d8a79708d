"""A run from the cache says so, and `train` prints model directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiment.place import Place
from textcat.cli.main import group
from textcat.report import writer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("cached"))


def test_the_table_is_printed_before_pages_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Place(tmp_path)

    def fail(*_: object) -> None:
        raise ValueError("no page")

    monkeypatch.setattr(writer, "write_report", fail)
    run = ["run", str(place.experiment), "--data", str(place.data), "--results", str(place.results)]
    with pytest.raises(ValueError, match="no page"):
        group(run, standalone_mode=False)
    assert "| svm" in capsys.readouterr().out


def test_the_first_numbers_come_before_other_learners_are_trained(tmp_path: Path) -> None:
    place = Place(tmp_path)
    printed = place.textcat("run", str(place.experiment), "-v")
    table, others = printed.split("The other learners follow.")
    assert "| least_squares |" in table
    assert "svm" not in table
    assert "svm" in others
    # What is ready is shown once.
    assert "follow" not in place.textcat("run", str(place.experiment))


def test_a_cached_run_says_so_and_repeats_no_times(place: Place) -> None:
    first = place.textcat("run", str(place.experiment))
    assert "train " in first.split("Time: ")[1]
    assert "from the cache" not in first.split("Time: ")[1]
    again = place.textcat("run", str(place.experiment)).split("Time: ")[1].splitlines()[0]
    assert again.startswith("all stages from the cache, built on 20")
    assert " s" not in again.removeprefix("all stages")


def test_pages_are_written_again_where_the_code_of_reports_has_changed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, results = place.report / "report.html", place.report / "results.json"
    place.textcat("run", str(place.experiment))
    page.touch()
    before, contents = page.stat().st_mtime_ns, results.read_bytes()
    place.textcat("run", str(place.experiment))
    assert page.stat().st_mtime_ns == before
    monkeypatch.setattr(writer, "hash_report_code", lambda ranges: "of another version")
    for _ in range(2):
        place.textcat("run", str(place.experiment))
        assert page.stat().st_mtime_ns > before
        written = page.stat().st_mtime_ns
    assert page.stat().st_mtime_ns == written
    assert results.read_bytes() == contents


def test_experiments_of_one_name_in_two_folders_are_named_before_files_are_replaced(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    other = tmp_path / "other" / place.experiment.name
    other.parent.mkdir()
    text = place.experiment.read_text().replace("path: ", "path: ../")
    other.write_text(text)
    for command, folder in (("run", place.report), ("train", place.data / "models" / "trial")):
        for _ in range(2):
            printed = place.textcat(command, str(place.experiment))
        assert "replace" not in printed
        printed = place.textcat(command, str(other))
        assert f"{folder}: it holds the files of" in printed
        assert "both experiments are named 'trial'" in printed
        assert "replace" not in place.textcat(command, str(other))
    other.unlink()
    assert "replace" not in place.textcat("run", str(place.experiment))


def test_train_prints_models_and_with_v_the_artifacts(place: Place) -> None:
    printed = place.textcat("train", str(place.experiment))
    models = place.data / "models" / "trial"
    assert f"model: {models / 'logistic'}" in printed
    assert "cache/" not in printed.replace(str(models), "")
    assert str(place.data / "cache" / "train") in place.textcat("train", str(place.experiment), "-v")


def test_a_report_names_the_file_to_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    text = place.experiment.read_text().replace("path: ", "path: ../")
    (tmp_path / "inner" / "best.yaml").write_text(f"name: trial-tuned\n{text}")
    place.textcat("run", "inner/best.yaml")
    page = (place.results / "trial-tuned" / "report.html").read_text()
    assert "<pre>textcat run inner/best.yaml</pre>" in page
