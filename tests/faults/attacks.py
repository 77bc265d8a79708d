"""Attacks that can be repeated any number of times; each try is survived, or is a mismatch with a reason.

A generator yields an empty text for each try that was survived and the reason for each that was not.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.faults import test_fetching as web
from tests.faults import test_hostile_matrices as matrices
from tests.faults.kills import die_at, kill_many, unsound_artifacts
from tests.faults.test_changed_documents import change_in_place
from tests.faults.test_odd_archives import unpack, write_tar, write_zip
from tests.faults.test_workers import _workers_of
from tests.faults.workplace import (
    Place,
    exit_code_of,
    has_ended_within,
    make_place,
    report_contents,
    textcat_in_child,
)
from tests.serving.small_model import platt, small_model
from textcat.compile import _is_whole, compile_kernel
from textcat.corpora import fetch_corpus
from textcat.corpora.fetch.collection import find_fetched
from textcat.errors import BadDataError, TextcatError
from textcat.serving.categorizer import Categorizer, read_categorizer, write_categorizer
from textcat.serving.export import replace_model


@dataclass(frozen=True)
class Setting:
    """A finished experiment that attacks copy, a folder of their own, and random numbers."""

    finished: Place
    folder: Path
    draw: random.Random

    def copy(self) -> Place:
        """Return a fresh copy of the finished experiment."""
        place = Place(self.folder / "copy")
        shutil.rmtree(place.folder, ignore_errors=True)
        shutil.copytree(self.finished.folder, place.folder)
        return place


def run(place: Place, *options: str, prepare: Callable[[], None] | None = None) -> tuple[int, str]:
    """Run the experiment in a child process; return its exit code and what it said."""
    log = place.folder / "log"
    code = exit_code_of(textcat_in_child(place.command("--offline", *options), log, prepare))
    return code, log.read_bytes().decode(errors="replace")


def compare(place: Place, finished: Place, *, whole_cache: bool = True) -> str:
    """Run the experiment again; return in what its report differs from the finished one.

    With `whole_cache`, damaged artifacts count too; those that a run does not need are not read by it.
    """
    code, said = run(place)
    if code:
        return f"exit code {code}: {said[-300:]}"
    found, expected = report_contents(place.report), report_contents(finished.report)
    other = sorted(name for name in found | expected if found.get(name) != expected.get(name))
    unsound = unsound_artifacts(place.cache) if whole_cache else []
    return f"other files: {other}" if other else "; ".join(unsound)


def flip_bit(content: bytes, draw: random.Random) -> bytes:
    """Return the content with one other bit."""
    changed = bytearray(content)
    changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def damage_file(path: Path, draw: random.Random) -> str:
    """Damage a file in one of seven ways; return which."""
    content = path.read_bytes() or b"x"
    way = draw.choice(["bit", "cut", "empty", "zeros", "gone", "pipe", "link"])
    if way in ("gone", "pipe", "link"):
        path.unlink()
    if way == "pipe":
        os.mkfifo(path)
    elif way == "link":
        path.symlink_to("/dev/zero")
    elif way != "gone":
        half = len(content) // 2
        changed = {
            "bit": flip_bit(content, draw),
            "cut": content[:half],
            "empty": b"",
            "zeros": bytes(len(content)),
        }
        path.write_bytes(changed[way])
    return way


def kill_runs(setting: Setting, tries: int) -> Iterator[str]:
    """SIGKILL of `textcat run` at random times and file operations, every second run twice."""
    place = make_place(setting.folder / "kills")
    tally = kill_many(place, tries, setting.draw.randrange(10**6))
    yield from [""] * tally.survivals
    yield from (tally.faults + ["another mismatch"] * tally.mismatches)[
        : max(tally.mismatches, len(tally.faults))
    ]


def damage_artifacts(setting: Setting, tries: int) -> Iterator[str]:
    """One to three files of the cache flipped, cut, emptied, zeroed, deleted, or replaced by a pipe or link."""
    for _ in range(tries):
        place = setting.copy()
        files = sorted(path for path in place.cache.glob("*/*/*") if path.is_file())
        ways = [
            damage_file(path, setting.draw)
            for path in setting.draw.sample(files, setting.draw.choice([1, 3]))
        ]
        found = compare(place, setting.finished, whole_cache=False)
        yield found and f"{ways}: {found}"


def damage_reports(setting: Setting, tries: int) -> Iterator[str]:
    """A file of results/EXPERIMENT flipped, cut, emptied, zeroed or deleted."""
    for _ in range(tries):
        place = setting.copy()
        path = setting.draw.choice(sorted(path for path in place.report.rglob("*") if path.is_file()))
        way = damage_file(path, setting.draw)
        if way in ("pipe", "link"):
            path.unlink()
        found = compare(place, setting.finished)
        yield found and f"{path.name} {way}: {found}"


def limit_file_sizes(setting: Setting, tries: int) -> Iterator[str]:
    """A limit on the size of files between 1.5 and 400 kB: one message, and the next run finishes."""
    for _ in range(tries):
        place = setting.copy()
        shutil.rmtree(place.cache)
        limit = int(1500 * (400_000 / 1500) ** setting.draw.random())
        code, said = run(place, prepare=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, -1)))  # noqa: B023
        if code not in (0, 4) or "Traceback" in said or "internal error" in said:
            yield f"limit {limit}: exit code {code}: {said[-300:]}"
        else:
            yield compare(place, setting.finished)


def kill_workers(setting: Setting, tries: int) -> Iterator[str]:
    """SIGKILL of one of two worker processes at a random time: one message or none, and the next run finishes."""
    for _ in range(tries):
        place = setting.copy()
        shutil.rmtree(place.cache / "train")
        log = place.folder / "log"
        command = place.command("--offline", "--backend", "processes", "-j", "2")
        child = textcat_in_child(command, log)
        until = time.monotonic() + 60
        while not (workers := _workers_of(child)) and time.monotonic() < until:
            if has_ended_within(child, 0.01) is not None:
                break
        else:
            time.sleep(setting.draw.uniform(0, 2))
            for worker in setting.draw.sample(workers, min(1, len(workers))):
                _kill(worker)
            code = exit_code_of(child)
            said = log.read_text(errors="replace")
            if code not in (0, 4) or "Traceback" in said:
                yield f"exit code {code}: {said[-300:]}"
                continue
        yield compare(place, setting.finished)


def _kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return


def flip_bits_of_models(setting: Setting, tries: int) -> Iterator[str]:
    """One other bit in a file of a model directory: refused."""
    model = setting.folder / "model"
    write_categorizer(model, small_model(calibration=platt()))
    paths = sorted(model.iterdir())
    for _ in range(tries):
        path = setting.draw.choice(paths)
        sound = path.read_bytes()
        path.write_bytes(flip_bit(sound, setting.draw))
        yield _expect_refusal(lambda: read_categorizer(model))
        path.write_bytes(sound)


def _expect_refusal(read: Callable[[], Any]) -> str:
    try:
        read()
    except TextcatError:
        return ""
    return "it was accepted"


@compile_kernel
def _double(value: Any) -> Any:
    return 2.0 * value


def flip_bits_of_kernels(setting: Setting, tries: int) -> Iterator[str]:
    """One other bit in the machine code of a kernel on disk: compiled again, never loaded."""
    assert _double(21.0) == 42.0
    kept = Path(_double.dispatcher._cache.cache_path).glob("attacks._double-*.nbc")
    path = max(kept, key=lambda each: each.stat().st_mtime_ns)
    copy = setting.folder / path.name
    for _ in range(tries):
        copy.write_bytes(flip_bit(path.read_bytes(), setting.draw))
        yield "it was accepted" if _is_whole(copy) else ""


def change_documents(setting: Setting, tries: int) -> Iterator[str]:
    """A file of a collection changed in place, its size and modification time as before: noticed."""
    place = setting.copy()
    path = place.data / "reuters21578" / "reut2-000.sgm"
    sound = path.read_bytes()
    for _ in range(tries):
        found = find_fetched("reuters21578", place.data)
        change_in_place(path)
        changed = find_fetched("reuters21578", place.data)
        yield "" if found is not None and changed is None else f"before {found}, after {changed}"
        path.write_bytes(sound)


def kill_fetches(setting: Setting, tries: int) -> Iterator[str]:
    """SIGKILL of `fetch` at each of its changes to files in turn: the next one installs the same files."""
    with _serving(setting, "tokens"):
        for number in range(1, tries + 1):
            data = setting.folder / f"fetch{number}"
            child = os.fork()
            if not child:
                try:
                    die_at(number, data)
                    fetch_corpus("rcv1", data, retry=web.QUICK)
                    os._exit(0)
                finally:
                    os._exit(99)
            exit_code_of(child)
            report = fetch_corpus("rcv1", data, retry=web.QUICK)
            left = web.left_behind(data)
            yield "" if report.counts["documents"] == 2 and not left else f"{report.counts}, left {left}"


class _serving:  # noqa: N801
    """A server on loopback, and a collection of two documents that it has."""

    def __init__(self, setting: Setting, *tokens: str) -> None:
        self.patch = pytest.MonkeyPatch()
        self.tokens = tokens

    def __enter__(self) -> None:
        self.server = web.start_server(self.patch)
        web.use_card(self.patch, next(self.server), *self.tokens)

    def __exit__(self, *_: object) -> None:
        next(self.server, None)
        self.patch.undo()


def change_archives(setting: Setting, tries: int) -> Iterator[str]:
    """One other byte in a tar or zip archive: refused, or nothing written outside or beyond the bounds."""
    archive, out = setting.folder / "archive", setting.folder / "out"
    for number in range(tries):
        (write_tar if number % 2 else write_zip)(archive, "a/x", "b", "c")
        archive.write_bytes(flip_bit(archive.read_bytes(), setting.draw))
        shutil.rmtree(out, ignore_errors=True)
        with suppress(BadDataError, OSError):
            unpack(archive, out)
        size = sum(path.stat().st_size for path in out.rglob("*"))
        yield "" if size < 20_000 else f"{size} bytes"


def replace_while_read(setting: Setting, tries: int) -> Iterator[str]:
    """A model that another process replaces all the time while it is read: the answer is that of one of the two."""
    folder = setting.folder / "model"
    one = small_model(calibration=platt())
    other = replace(one, categories=one.categories[::-1], model=replace(one.model, coef=-one.model.coef))
    replace_model(folder, one)
    child = os.fork()
    if not child:
        try:
            while os.getppid() != 1:
                replace_model(folder, other)
                replace_model(folder, one)
        finally:
            os._exit(99)
    try:
        expected = [(each.categories, each.model.coef.tolist()) for each in (one, other)]
        for _ in range(tries):
            found = read_categorizer(folder)
            yield "" if (found.categories, found.model.coef.tolist()) in expected else "it is mixed"
    finally:
        _kill(child)
        os.waitpid(child, 0)


def point_outside(setting: Setting, tries: int) -> Iterator[str]:
    """A sparse matrix whose indices, starts, lengths or types do not fit, at each public entry: one clear error."""
    every = (
        (name, entry, bad) for name, entry in matrices.list_entries().items() for bad in matrices.HOSTILE
    )
    for name, entry, bad in islice(every, tries):
        found = matrices.attack(entry, matrices.HOSTILE[bad]())
        yield found and f"{name}, {bad}: {found}"


def name_other_files(setting: Setting, tries: int) -> Iterator[str]:
    """A stop list that names a device, a pipe, a large file or a secret, in settings or a model: never quoted."""
    (setting.folder / "secret").write_text("hidden words\n")
    (setting.folder / "large").write_bytes(b"word\n" * 300_000)
    os.mkfifo(setting.folder / "pipe")
    own = [str(setting.folder / name) for name in ("secret", "large", "pipe")]
    paths = [*own, "/dev/zero", "/dev/urandom", "/proc/self/mem"]
    for number in range(tries):
        path, model = paths[number % len(paths)], setting.folder / f"model{number}"
        settings = {"text": {"stop_list": path}}
        if number // len(paths) % 2:
            write_categorizer(model, small_model())
            (model / "SHA256SUMS").unlink()
            facts = json.loads((model / "categorizer.json").read_text())
            del facts["checksums"]
            facts["run"]["text"]["stop_list"] = facts["text"]["stop_list"] = path
            (model / "categorizer.json").write_text(json.dumps(facts))
        try:
            Categorizer.load(model) if model.exists() else Categorizer.fit(["a", "b"], ["x", "y"], settings)
        except TextcatError as error:
            yield "it was quoted" if "hidden" in str(error) else ""
        else:
            yield f"{path} was accepted"


ATTACKS: dict[str, tuple[Callable[[Setting, int], Iterator[str]], int]] = {
    "killed runs": (kill_runs, 100),
    "damaged cache": (damage_artifacts, 20),
    "damaged results": (damage_reports, 20),
    "limited file sizes": (limit_file_sizes, 10),
    "killed workers": (kill_workers, 4),
    "flipped bits in models": (flip_bits_of_models, 500),
    "models replaced while read": (replace_while_read, 200),
    "hostile matrices": (point_outside, 10_000),
    "stop lists of other files": (name_other_files, 12),
    "flipped bits in kernels": (flip_bits_of_kernels, 500),
    "documents changed in place": (change_documents, 50),
    "killed fetches": (kill_fetches, 30),
    "changed archives": (change_archives, 2000),
}
