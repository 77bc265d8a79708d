"""Ctrl-C, one failing experiment among others, and memory that runs out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from tests.conftest import PROJECT
from tests.faults.conftest import COMMAND, textcat
from tests.faults.kills import unsound_artifacts
from tests.faults.workplace import Place, write_fetch_manifest

# Tests that run in the background of a shell have children that would not hear of Ctrl-C.
HEARING = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"


@pytest.mark.parametrize("stage", ["tokenize", "train"])
def test_ctrl_c_says_how_to_resume(copy_of: Callable[[], Place], finished: Place, stage: str) -> None:
    place = copy_of()
    shutil.rmtree(place.cache)
    process = subprocess.Popen(
        [sys.executable, "-c", HEARING + COMMAND, *place.command()],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    until = time.monotonic() + 60
    while process.poll() is None and not (place.cache / stage).exists() and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "run the same command again" in said
    assert "Traceback" not in said
    assert not unsound_artifacts(place.cache)
    assert not list(place.cache.rglob("*.part"))
    assert textcat(*place.command()).returncode == 0
    assert place.result_bytes() == finished.result_bytes()


def test_others_go_on_when_one_experiment_fails(copy_of: Callable[[], Place], finished: Place) -> None:
    place = copy_of()
    broken = place.folder / "broken.yaml"
    broken.write_text(place.experiment.read_text().replace("naive_bayes", "naive_baies"))
    shutil.rmtree(place.results)
    command = place.command("--keep-going")
    done = textcat("run", str(broken), *command[1:])
    assert done.returncode == 2
    assert "naive_baies" in done.stderr
    assert place.result_bytes() == finished.result_bytes()
    shutil.rmtree(place.results)
    assert textcat("run", str(broken), *place.command()[1:]).returncode == 2
    assert not place.results.exists()


LIMITED = """
import resource, sys
from textcat.cli.main import main
import textcat.experiment.run.plan
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + 400_000_000, -1))
main()
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")  # noqa: PTH110
def test_used_up_memory_is_said_as_such(copy_of: Callable[[], Place]) -> None:
    place = copy_of()
    shutil.rmtree(place.cache)
    words = " ".join(
        f"w{a}{b}{c}{d}"
        for a in "abcdefghijklmnop"
        for b in "abcdefghijklmnopqrst"
        for c in "abcdefghijklmnopqrst"
        for d in "abcdefghij"
    )
    words = "".join(letter if letter != "w" else "z" for letter in words)
    labels = "".join(f"<D>l{number}</D>" for number in range(2000))
    head = 'TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" NEWID="21578"'
    record = f"<REUTERS {head}><TOPICS>{labels}</TOPICS><TEXT><BODY>{words}</BODY></TEXT></REUTERS>"
    (place.data / "reuters21578" / "reut2-021.sgm").write_text(record)
    write_fetch_manifest(place.data / "reuters21578", "0" * 64)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *place.command()],
        cwd=PROJECT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "out of memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not unsound_artifacts(place.cache)
