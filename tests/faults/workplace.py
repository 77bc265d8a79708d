"""A small experiment that takes seconds and passes through every stage, on a slice of Reuters-21578.

The slice is real where the collection is on this machine, and made of random words where it is not.
"""

from __future__ import annotations

import os
import random
import re
import sys
import tarfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.conftest import mirror_folder
from textcat.corpora.cards import Manifest, hash_contents, read_folder_state, write_manifest
from textcat.corpora.collections.reuters21578 import Reuters21578

PARTS = {"reut2-000.sgm": 260, "reut2-018.sgm": 160}
RECORD = re.compile("<REUTERS .*?</REUTERS>", re.DOTALL)

SETTINGS = {
    "title": "Every stage",
    "corpus": {"name": "reuters21578", "split": "modapte"},
    "vector": {"weighting": "log_tf_idf", "cosine": True},
    "threshold": {"rule": "tuned"},
    "runs": {
        "bayes": {"learner": "naive_bayes", "vector": {"weighting": "binary", "cosine": False}},
        "logistic": {
            "learner": "CLG",
            "parameters": {"lam": 1.0e-3, "passes": 20},
            "selection": {"score": "chi_square", "features": 200},
        },
        "svm": {"learner": "smo", "parameters": {"lam": 1.0e-3}, "projection": {"dimensions": 20}},
        "winnow": {"learner": "winnow"},
        "searched": {
            "learner": "CLS",
            "parameters": {"passes": 5},
            "search": {"parameter": "lam", "grid": [1.0e-3, 1.0e-2], "folds": 2},
        },
    },
}


@dataclass(frozen=True)
class Place:
    """Where the experiment file, the data and the results of one trial stand."""

    folder: Path

    @property
    def experiment(self) -> Path:
        """The experiment file."""
        return self.folder / "stages.yaml"

    @property
    def data(self) -> Path:
        """The slice and the cache."""
        return self.folder / "data"

    @property
    def cache(self) -> Path:
        """The artifacts."""
        return self.data / "cache"

    @property
    def results(self) -> Path:
        """The reports."""
        return self.folder / "results"

    @property
    def report(self) -> Path:
        """The report of the experiment."""
        return self.results / "stages"

    def result_bytes(self) -> bytes:
        """The bytes of results.json."""
        return (self.report / "results.json").read_bytes()

    def contents(self) -> dict[str, bytes]:
        """The whole report; see `report_contents`."""
        return report_contents(self.report)

    def command(self, *options: str) -> list[str]:
        """The arguments of `textcat` that carry the experiment out."""
        where = ["--data", str(self.data), "--results", str(self.results)]
        return ["run", str(self.experiment), *where, "-j", "1", *options]


# Seconds differ from run to run: this row of the page's table of facts, all of timings.json, and their hashes.
TIME = re.compile(rb"<tr><th>time</th><td[^>]*>[^<]*</td></tr>")
COMMAND = re.compile(rb"<pre>textcat run [^<]*</pre>")
HASHES = re.compile(rb'"(report\.html|timings\.json)": "[0-9a-f]{64}"')


def report_contents(folder: Path) -> dict[str, bytes]:
    """Every file of a results folder by its name, without the seconds that a run took and the experiment's path."""
    found = {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    found["timings.json"] = b""
    if page := found.get("report.html"):
        found["report.html"] = COMMAND.sub(b"", TIME.sub(b"", page))
        assert found["report.html"] != page
    if manifest := found.get("manifest.json"):
        found["manifest.json"] = HASHES.sub(rb"\1", manifest)
        assert found["manifest.json"] != manifest
    return found


def make_place(folder: Path) -> Place:
    """The experiment and its slice, as if fetched, in a folder."""
    place = Place(folder)
    collection = place.data / "reuters21578"
    collection.mkdir(parents=True)
    for name, text in _slice().items():
        (collection / name).write_text(text, encoding="latin-1")
    corpus = Reuters21578(collection)
    write_fetch_manifest(collection, corpus.fingerprint())
    place.experiment.write_text(yaml.safe_dump(SETTINGS))
    return place


def write_fetch_manifest(collection: Path, fingerprint: str) -> None:
    """Say that the files of a folder are those that were fetched."""
    state = read_folder_state(collection)
    contents = hash_contents(collection)
    manifest = Manifest("reuters21578", "a slice", "no", fingerprint, {}, *state, contents=contents)
    write_manifest(collection, manifest)


def _slice() -> dict[str, str]:
    mirror = mirror_folder()
    archive = mirror / "reuters21578.tar.gz" if mirror else None
    if archive is None or not archive.is_file():
        return {name: _invented(name, number) for name, number in PARTS.items()}
    with tarfile.open(archive) as opened:
        members = {Path(member.name).name: member for member in opened.getmembers()}
        texts = {name: opened.extractfile(members[name]) for name in PARTS}
        return {
            name: "\n".join(RECORD.findall(text.read().decode("latin-1"))[: PARTS[name]])
            for name, text in texts.items()
            if text
        }


def _invented(name: str, number: int) -> str:
    draw = random.Random(name)
    side, first = ("TRAIN", 1) if name < "reut2-015" else ("TEST", 18001)
    topics = ["earn", "acq", "crude", "grain", "trade"]
    words = {topic: [f"{topic[:2]}{a}{b}" for a in "aeiou" for b in "bcdfgh"] for topic in [*topics, "any"]}
    records = []
    for document in range(first, first + number):
        labels = draw.sample(topics, draw.choice([0, 1, 1, 1, 2]))
        pool = [word for topic in [*labels, "any"] for word in words[topic]]
        body = " ".join(draw.choice(pool) for _ in range(60))
        listed = "".join(f"<D>{label}</D>" for label in labels)
        head = f'TOPICS="YES" LEWISSPLIT="{side}" CGISPLIT="TRAINING-SET" NEWID="{document}"'
        text = f"<TEXT><TITLE>{body[:20]}</TITLE><BODY>{body}</BODY></TEXT>"
        records.append(f"<REUTERS {head}><TOPICS>{listed}</TOPICS>{text}</REUTERS>")
    return "\n".join(records)


def textcat_in_child(arguments: list[str], log: Path, prepare: Callable[[], None] | None = None) -> int:
    """Start the command line in a forked child with all its modules loaded; the child's process id."""
    child = os.fork()
    if child:
        return child
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        if prepare:
            prepare()
        from textcat.cli.main import main

        main(arguments)
    except SystemExit as leaving:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(leaving.code if isinstance(leaving.code, int) else 1)
    finally:
        os._exit(99)


def exit_code_of(child: int) -> int:
    """Wait for a child; the negative number of the signal that ended it, or its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def has_ended_within(child: int, seconds: float) -> int | None:
    """The exit code of a child that ends by itself in time, else nothing."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None
