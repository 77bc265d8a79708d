"""A limit on the size of files at any point, and clocks that were set: one message, or no difference."""

from __future__ import annotations

import os
import random
import resource
import shutil
import time
from collections.abc import Callable

import pytest

from tests.faults.conftest import textcat
from tests.faults.kills import load_everything, unsound_artifacts
from tests.faults.workplace import Place, exit_code_of, textcat_in_child

# The message itself goes to a file too.
LIMITS = [5_000, 60_000, 400_000]


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_on_the_size_of_files_is_one_message(
    copy_of: Callable[[], Place], finished: Place, limit: int
) -> None:
    place = copy_of()
    shutil.rmtree(place.cache)
    shutil.rmtree(place.results)
    load_everything()
    log = place.folder / "log"

    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    code = exit_code_of(textcat_in_child(place.command("--offline"), log, set_limit))
    said = log.read_bytes().decode(errors="replace")
    if code != 0:
        assert code == 4, said
        assert "Traceback" not in said
        assert "internal error" not in said
        assert "cannot write" in said
        assert "File too large" in said or "the disk is full" in said
    assert not unsound_artifacts(place.cache)
    assert not list(place.folder.rglob("*.part"))
    assert exit_code_of(textcat_in_child(place.command("--offline"), log)) == 0, log.read_text()
    assert place.result_bytes() == finished.result_bytes()


TIMES = {"before 1970": -(10**9), "far future": 2**42}


@pytest.mark.parametrize("name", TIMES)
def test_files_of_any_age_are_used_alike(copy_of: Callable[[], Place], finished: Place, name: str) -> None:
    place = copy_of()
    for path in [*place.data.rglob("*"), *place.report.rglob("*")]:
        try:
            os.utime(path, (TIMES[name], TIMES[name]))
        except OSError:
            pytest.skip("this disk cannot hold such times")
    done = textcat(*place.command("--offline"))
    assert done.returncode == 0, done.stderr
    assert place.result_bytes() == finished.result_bytes()
    for command in (["cache", "--data"], ["list", "corpora", "--data"]):
        again = textcat(*command, str(place.data))
        assert again.returncode == 0, again.stderr


def test_a_clock_that_is_set_back_and_forth_changes_nothing(
    copy_of: Callable[[], Place], finished: Place
) -> None:
    """The clock jumps by up to a year at each look at it."""
    place = copy_of()
    shutil.rmtree(place.cache)
    load_everything()
    log = place.folder / "log"
    draw = random.Random(5)
    true_time, true_ns = time.time, time.time_ns

    def set_clock() -> None:
        time.time = lambda: true_time() + draw.uniform(-3e7, 3e7)
        time.time_ns = lambda: true_ns() + draw.randrange(-(3 * 10**16), 3 * 10**16)

    assert exit_code_of(textcat_in_child(place.command("--offline"), log, set_clock)) == 0, log.read_text()
    assert place.result_bytes() == finished.result_bytes()
    assert exit_code_of(textcat_in_child(place.command("--offline"), log, set_clock)) == 0, log.read_text()
    assert not unsound_artifacts(place.cache)


def test_few_open_files_are_enough_or_one_message(copy_of: Callable[[], Place], finished: Place) -> None:
    place = copy_of()
    shutil.rmtree(place.cache)
    load_everything()
    log = place.folder / "log"
    for files in (12, 16, 40):
        prepare = _limit_files(files)
        code = exit_code_of(textcat_in_child(place.command("--offline"), log, prepare))
        assert code in (0, 2, 4), log.read_text()
        assert "Traceback" not in log.read_text()
    assert exit_code_of(textcat_in_child(place.command("--offline"), log)) == 0
    assert place.result_bytes() == finished.result_bytes()


def _limit_files(number: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))
