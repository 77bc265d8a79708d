"""A damaged, interrupted or outdated results folder is rebuilt by the next run, byte for byte."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from tests.experiment.place import Place
from tests.faults.workplace import report_contents
from tests.loops import for_each
from textcat.experiment.run.results_file import FILES, MANIFEST, read_timings

SVG = "figures/largest_categories.svg"
PNG = "figures/largest_categories.png"
OLD_TITLE, TITLE = "An older trial", "A small trial"

Damage = Callable[[Path, Path], object]


@dataclass(frozen=True)
class Written:
    """An experiment that has run, its report, and the report of its older settings."""

    place: Place
    report: Path
    older: Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    folder = tmp_path_factory.mktemp("written")
    place = Place(folder)
    settings = place.experiment.read_text()
    older = settings.replace(TITLE, OLD_TITLE).replace("features: 30", "features: 8")
    for text, kept in ((older, "older"), (settings, "report")):
        place.experiment.write_text(text)
        place.textcat("run", str(place.experiment))
        shutil.copytree(place.report, folder / kept)
        shutil.rmtree(place.report)
    return Written(place, folder / "report", folder / "older")


def delete(name: str) -> Damage:
    return lambda folder, _: (folder / name).unlink()


def truncate(name: str) -> Damage:
    def damage(folder: Path, _: Path) -> None:
        path = folder / name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    return damage


def fill(name: str, content: bytes = b"") -> Damage:
    return lambda folder, _: (folder / name).write_bytes(content)


def flip(name: str) -> Damage:
    """One bit of the last byte but one."""

    def damage(folder: Path, _: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[-2] ^= 1
        (folder / name).write_bytes(content)

    return damage


def older(*names: str) -> Damage:
    """These files are still those of the older settings."""

    def damage(folder: Path, before: Path) -> None:
        for name in names:
            shutil.copyfile(before / name, folder / name)

    return damage


def swap_drawings(folder: Path, _: Path) -> None:
    shutil.copyfile(folder / PNG, folder / SVG)


def remove_figures(folder: Path, _: Path) -> None:
    shutil.rmtree(folder / "figures")


def remove_everything(folder: Path, _: Path) -> None:
    shutil.rmtree(folder)


DAMAGES: dict[str, Damage] = {
    **{f"no {name}": delete(name) for name in ("results.json", SVG, MANIFEST)},
    **{f"half of {name}": truncate(name) for name in ("results.json", "report.html", MANIFEST)},
    **{f"nothing in {name}": fill(name) for name in ("table.md", PNG, MANIFEST)},
    **{f"one bit of {name}": flip(name) for name in (*FILES, SVG, PNG)},
    **{f"older {name}": older(name) for name in ("results.json", "table.tex")},
    "only results.json is new": older(*FILES[1:], SVG, PNG, MANIFEST),
    "only the tables are older": older("table.md", "table.csv", "table.tex", "report.html"),
    "everything is older": older(*FILES, SVG, PNG, MANIFEST),
    "all but the manifest are older": older(*FILES, SVG, PNG),
    "a figure that no longer belongs": fill("figures/macro_f1_by_classes.svg", b"<svg/>"),
    "a PNG that no longer belongs": fill("figures/old.png", b"old"),
    "an unfinished table": fill(".table.md.abc.part", b"# A"),
    "an unfinished figure": fill("figures/.a.svg.abc.part", b"<svg"),
    "another picture under a name": swap_drawings,
    "no figures": remove_figures,
    "no folder": remove_everything,
    "no text in results.json": fill("results.json", b"\xff\xfe"),
    "a list as manifest": fill(MANIFEST, b"[]"),
    "a manifest of a list": fill(MANIFEST, b'{"files": [1]}'),
    "a manifest of nothing": fill(MANIFEST, b'{"files": {}}'),
    "a manifest of wrong hashes": fill(MANIFEST, json.dumps({"files": dict.fromkeys(FILES, 0)}).encode()),
    "a list as timings": fill("timings.json", b"[]"),
    "a measure among the timings": fill("timings.json", b'{"stages": {}, "runs": {"svm": {"micro.f1": 1}}}'),
}


@pytest.fixture
def place(written: Written) -> Place:
    """The experiment with its whole report."""
    shutil.rmtree(written.place.report, ignore_errors=True)
    shutil.copytree(written.report, written.place.report)
    return written.place


@for_each("name", DAMAGES)
def test_the_next_run_repairs_the_folder(written: Written, place: Place, name: str) -> None:
    DAMAGES[name](place.report, written.older)
    place.textcat("run", str(place.experiment))
    assert report_contents(place.report) == report_contents(written.report)
    assert _stages(place.report) == _stages(written.report)


def _stages(folder: Path) -> dict[str, float]:
    """The seconds of stages but of the fetch, which is measured again."""
    return {k: v for k, v in read_timings(folder / "timings.json")["stages"].items() if k != "fetch"}


def test_a_whole_folder_is_not_written_again(place: Place) -> None:
    (place.report / "notes.txt").write_text("mine")
    before = {path: path.stat().st_mtime_ns for path in place.report.rglob("*")}
    place.textcat("run", str(place.experiment))
    assert {path: path.stat().st_mtime_ns for path in place.report.rglob("*")} == before


def test_files_of_the_user_are_left_alone(place: Place) -> None:
    for name in ("notes.txt", "figures/mine.pdf"):
        (place.report / name).write_text("mine")
    (place.report / "table.md").unlink()
    place.textcat("run", str(place.experiment))
    assert (
        (place.report / "notes.txt").read_text() == (place.report / "figures/mine.pdf").read_text() == "mine"
    )


@for_each("number", [1, 5, 9])
def test_a_report_that_is_stopped_is_finished_by_the_next_run(
    written: Written, place: Place, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped at its first, a middle and its last write, over the report of the older settings."""
    shutil.rmtree(place.report)
    shutil.copytree(written.older, place.report)
    with monkeypatch.context() as patch:
        _stop_at(number, patch)
        with pytest.raises(click.Abort):
            place.textcat("run", str(place.experiment))
    place.textcat("run", str(place.experiment))
    assert report_contents(place.report) == report_contents(written.report)


def _stop_at(number: int, patch: pytest.MonkeyPatch) -> None:
    """Raise KeyboardInterrupt instead of moving the so many-th file into place."""
    replace, seen = Path.replace, 0

    def interrupted(path: Path, target: Path) -> Path:
        nonlocal seen
        seen += 1
        if seen == number:
            raise KeyboardInterrupt
        return replace(path, target)

    patch.setattr(Path, "replace", interrupted)
