"""Several runs at once over one cache, and the same results however a run is carried out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from tests.faults.conftest import textcat
from tests.faults.kills import unsound_artifacts
from tests.faults.workplace import SETTINGS, Place


def test_four_runs_at_once_build_each_artifact_once(copy_of: Callable[[], Place], finished: Place) -> None:
    place = copy_of()
    shutil.rmtree(place.cache)
    names = list(SETTINGS["runs"])
    files = []
    for number in range(4):
        kept = {name: SETTINGS["runs"][name] for name in {names[number % 5], names[(number + 1) % 5]}}
        files.append(place.folder / f"overlap{number}.yaml")
        files[-1].write_text(yaml.safe_dump({**SETTINGS, "runs": kept if number else SETTINGS["runs"]}))

    def run(file: Path) -> tuple[int, str]:
        arguments = ["--data", str(place.data), "--results", str(place.results), "-j", "1", "-v"]
        done = textcat("run", str(file), *arguments)
        return done.returncode, done.stderr

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(run, files))
    assert [code for code, _ in ended] == [0] * 4, ended
    assert not unsound_artifacts(place.cache)
    made = {path.relative_to(place.cache) for path in place.cache.glob("*/*/")}
    assert made == {path.relative_to(finished.cache) for path in finished.cache.glob("*/*/")}
    assert not list(place.cache.rglob("*.part"))
    lines = [line for _, said in ended for line in said.splitlines() if line.startswith("made ")]
    assert len(lines) == len(set(lines)) == len(made)


@pytest.mark.parametrize(("jobs", "hash_seed"), [("1", "3"), ("2", "1")])
def test_jobs_and_hash_seeds_change_nothing(
    copy_of: Callable[[], Place], finished: Place, jobs: str, hash_seed: str
) -> None:
    place = copy_of()
    shutil.rmtree(place.cache)
    done = textcat(*place.command("-j", jobs), PYTHONHASHSEED=hash_seed)
    assert done.returncode == 0, done.stderr
    assert place.result_bytes() == finished.result_bytes()
    for name in ("table.md", "table.csv"):
        ours, theirs = (each.results / "stages" / name for each in (place, finished))
        assert ours.read_bytes() == theirs.read_bytes()
