"""A run from the cache says so, and `train` prints model directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.experiment.place import Place
from textcat.experiment.run.runner import Timings
from textcat.report import writer
from textcat.store.files import find_other_source, record_source


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("cached"))


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
    monkeypatch.setattr(writer, "hash_report_code", lambda: "of another version")
    for _ in range(2):
        place.textcat("run", str(place.experiment))
        assert page.stat().st_mtime_ns > before
        written = page.stat().st_mtime_ns
    assert page.stat().st_mtime_ns == written
    assert results.read_bytes() == contents


def test_the_code_of_reports_includes_templates_and_printed_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Path] = []
    monkeypatch.setattr(writer, "hash_file", lambda path: (read.append(path), "0")[1])
    writer.hash_report_code()
    names = {f"{path.parent.name}/{path.name}" for path in read}
    assert names >= {
        "report/writer.py",
        "templates/page.html",
        "templates/style.css",
        "published/claims.yaml",
    }
    assert len(names) == len(read)


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


def test_the_source_of_a_folder_behind_a_link_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("project", "other", "shared/models"):
        (tmp_path / name).mkdir(parents=True)
    for project in ("project", "other"):
        (tmp_path / project / "data").symlink_to(tmp_path / "shared")
        (tmp_path / project / "mine.yaml").touch()
    monkeypatch.chdir(tmp_path / "project")
    record_source(Path("data/models"), Path("mine.yaml"))
    assert find_other_source(Path("data/models"), Path("mine.yaml")) is None
    monkeypatch.chdir(tmp_path / "other")
    assert find_other_source(Path("data/models"), Path("mine.yaml")) == Path("../project/mine.yaml")
    (tmp_path / "project" / "mine.yaml").unlink()
    assert find_other_source(Path("data/models"), Path("mine.yaml")) is None
    (tmp_path / "shared/models/.source").write_bytes(b"\xff\0")
    assert find_other_source(Path("data/models"), Path("mine.yaml")) is None


def test_train_prints_models_and_with_v_the_artifacts(place: Place) -> None:
    printed = place.textcat("train", str(place.experiment))
    models = place.data / "models" / "trial"
    assert f"model: {models / 'logistic'}" in printed
    assert "cache/" not in printed.replace(str(models), "")
    assert str(place.data / "cache" / "train") in place.textcat("train", str(place.experiment), "-v")


def test_time_of_a_part_is_told_from_the_cache() -> None:
    timings = Timings()
    timings.note("tokenize", 7.0, was_ready=True, built_at=0.0)
    timings.note("train", 3.0, was_ready=True, built_at=86400.0 * 365)
    timings.note("train", 2.0, was_ready=False)
    assert timings.summary.startswith("Time: train 2.0 s  (from the cache, built until 1971-01-01")
    assert timings.summary.endswith("tokenize, part of train)")
    assert timings.seconds == {"tokenize": 7.0, "train": 5.0}


def test_evaluate_prints_the_measures(place: Place) -> None:
    printed = place.textcat("evaluate", str(place.experiment))
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert table
    assert set(table) <= set(place.textcat("run", str(place.experiment)).splitlines())


def test_a_report_names_the_file_to_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    text = place.experiment.read_text().replace("path: ", "path: ../")
    (tmp_path / "inner" / "best.yaml").write_text(f"name: trial-tuned\n{text}")
    place.textcat("run", "inner/best.yaml")
    page = (place.results / "trial-tuned" / "report.html").read_text()
    assert "<pre>textcat run inner/best.yaml</pre>" in page
