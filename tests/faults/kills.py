"""Kill `textcat run` at random moments; the next run must finish and leave the same results folder.

    python -m tests.faults.kills --kills 100

Half of the kills come after a random time; half at a random file operation in the cache or the results, where
a half-written file would stand. Every second killed run is killed again before it may finish. Results stay as
they are: before a kill the folder holds in turn what the last run left and a whole report of older settings, which
the killed run replaces in part; every second kill finds a full cache, so that it comes during the report.
All files are compared, but not the seconds in them (see `report_contents`).
"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count, takewhile
from pathlib import Path

import yaml

import textcat
from tests.faults.workplace import Place, exit_code_of, has_ended_within, make_place, textcat_in_child
from textcat.store import Recipe, Store
from textcat.store.arrays import read_json
from textcat.store.artifacts import ARTIFACT_MANIFEST

OPERATIONS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "tempfile.mkdtemp", "open"}


@dataclass
class Tally:
    """What came of the kills."""

    kills: int = 0
    survivals: int = 0
    mismatches: int = 0
    faults: list[str] = field(default_factory=list)
    reached: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        stages = ", ".join(f"{stage} {number}" for stage, number in sorted(self.reached.items()))
        counts = f"kills {self.kills}, survivals {self.survivals}, mismatches {self.mismatches}"
        return "\n".join([counts, f"last artifact at the kill: {stages}", *self.faults])


@dataclass(frozen=True)
class Run:
    """How long an undisturbed run takes, and how many changes to files it makes."""

    seconds: float
    operations: int


def kill_many(place: Place, kills: int, seed: int = 1, say: Callable[[str], None] = lambda _: None) -> Tally:
    """Kill and rerun until so many kills were survived, or were not."""
    load_everything()
    log = place.folder / "log"
    older = _report_of_older_settings(place, log)
    clear_cache(place)
    whole = _measure(place, log)
    expected = place.contents()
    _replace_report(place, older)
    report_alone = _measure(place, log)
    draw, tally = random.Random(seed), Tally()
    for number in takewhile(lambda _: tally.kills < kills, count()):
        cached = bool(number % 2)
        if cached:
            _expect_success(textcat_in_child(place.command(), log), log)
        else:
            clear_cache(place)
        if draw.random() < 0.5:
            _replace_report(place, older)
        again = 1 + number // 2 % 2
        run = report_alone if cached else whole
        killed = [_kill_once(place, draw, run, tally, log) for _ in range(again)]
        if any(killed):
            _rerun(place, expected, tally, log, sum(killed))
            say(f"{tally.kills} kills, {tally.survivals} survivals, {tally.mismatches} mismatches")
    return tally


def clear_cache(place: Place) -> None:
    """Back to an empty cache; results stay."""
    shutil.rmtree(place.cache, ignore_errors=True)


def _report_of_older_settings(place: Place, log: Path) -> Path:
    """Run the experiment with another title and another weighting; return a copy of its report."""
    settings = place.experiment.read_text()
    changed = yaml.safe_load(settings) | {"title": "Older settings", "vector": {"weighting": "binary"}}
    place.experiment.write_text(yaml.safe_dump(changed))
    _expect_success(textcat_in_child(place.command(), log), log)
    place.experiment.write_text(settings)
    older = place.folder / "older"
    shutil.copytree(place.report, older)
    return older


def _replace_report(place: Place, older: Path) -> None:
    shutil.rmtree(place.report, ignore_errors=True)
    shutil.copytree(older, place.report)


def _kill_once(place: Place, draw: random.Random, run: Run, tally: Tally, log: Path) -> bool:
    """One run that is killed, unless it ends before."""
    started = time.time_ns()
    if draw.random() < 0.5:
        number = draw.randrange(1, run.operations + 1)
        child = textcat_in_child(place.command(), log, lambda: die_at(number, place.folder))
        code = exit_code_of(child)
    else:
        child = textcat_in_child(place.command(), log)
        ended = has_ended_within(child, draw.uniform(0, run.seconds))
        if ended is None:
            os.kill(child, signal.SIGKILL)
        code = exit_code_of(child) if ended is None else ended
    if code == -signal.SIGKILL:
        tally.kills += 1
        tally.reached[_last_stage(place, started)] += 1
    elif code:
        tally.faults.append(f"exit code {code} before the kill: {log.read_text()[-300:]}")
    return code == -signal.SIGKILL


def _rerun(place: Place, expected: dict[str, bytes], tally: Tally, log: Path, kills: int) -> None:
    code = exit_code_of(textcat_in_child(place.command(), log))
    if code:
        tally.mismatches += kills
        tally.faults.append(f"exit code {code} after the kill: {log.read_text()[-300:]}")
        return
    unsound = unsound_artifacts(place.cache)
    found = place.contents()
    other = sorted(name for name in expected | found if expected.get(name) != found.get(name))
    if not other and not unsound:
        tally.survivals += kills
        return
    tally.mismatches += kills
    tally.faults.append(f"other files of the report: {other}; unsound artifacts: {unsound}")


def unsound_artifacts(cache: Path) -> list[str]:
    """Folders of the cache that are neither whole artifacts nor gone."""
    unsound = []
    for folder in cache.glob("*/*/"):
        try:
            recipe = Recipe(**read_json(folder, ARTIFACT_MANIFEST.removesuffix(".json"))["recipe"])
            found = Store(cache).find(recipe)
        except Exception as error:
            unsound.append(f"{folder}: {error}")
            continue
        if found is None or found.folder != folder:
            unsound.append(str(folder))
    return unsound


def die_at(number: int, below: Path) -> None:
    """From now on count this process's changes to files below a folder, and be killed at one of them."""
    seen = 0

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if _changes(event, arguments, str(below)):
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def _changes(event: str, arguments: tuple[object, ...], below: str) -> bool:
    if event not in OPERATIONS or not str(arguments[0]).startswith(below):
        return False
    if event != "open":
        return True
    mode, flags = arguments[1], arguments[2]
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    return any(letter in str(mode or "") for letter in "wax+") or (
        isinstance(flags, int) and bool(flags & writes)
    )


def _measure(place: Place, log: Path) -> Run:
    """Let a run end, and measure it."""
    note = place.folder / "operations"

    def prepare() -> None:
        def watch(event: str, arguments: tuple[object, ...]) -> None:
            if _changes(event, arguments, str(place.folder)):
                os.write(handle, b".")

        handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sys.addaudithook(watch)

    started = time.monotonic()
    _expect_success(textcat_in_child(place.command(), log, prepare), log)
    return Run(time.monotonic() - started, note.stat().st_size)


def _last_stage(place: Place, started: int) -> str:
    """The stage whose files were written last since a time."""
    if any(path.stat().st_mtime_ns >= started for path in place.report.rglob("*") if path.is_file()):
        return "report"
    newest = max(place.cache.glob("*/*/"), key=lambda path: path.stat().st_mtime_ns, default=None)
    return newest.parent.name if newest and newest.stat().st_mtime_ns >= started else "none"


def _expect_success(child: int, log: Path) -> None:
    code = exit_code_of(child)
    if code:
        raise RuntimeError(f"the undisturbed run ended with {code}: {log.read_text()[-2000:]}")


def load_everything() -> None:
    """Import every module once, so that a forked child spends its time on the work."""
    for module in pkgutil.walk_packages(textcat.__path__, "textcat."):
        if "dask" not in module.name:
            importlib.import_module(module.name)


def main() -> None:
    """Kill, print, and leave with 1 where a kill was not survived."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = make_place(Path(folder))
        tally = kill_many(place, options.kills, options.seed, lambda line: print(line, flush=True))  # noqa: T201
    print(tally)  # noqa: T201
    sys.exit(1 if tally.mismatches or tally.faults else 0)


if __name__ == "__main__":
    main()
