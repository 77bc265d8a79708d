"""Fetching a whole collection over the web, from a server on loopback, and by two processes at once."""

from __future__ import annotations

import functools
import gzip
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.faults.kills import die_at
from tests.faults.workplace import exit_code_of
from textcat.corpora import CorpusCard, fetch_corpus, is_fetched, load_card
from textcat.corpora import fetch_corpus as fetch_function
from textcat.corpora.cards import FETCH_MANIFEST, Package, RemoteFile
from textcat.corpora.fetch.download import RetryPolicy
from textcat.errors import BadDataError, DataNotAvailableError

fetch_module = sys.modules[fetch_function.__module__]
QUICK = RetryPolicy(timeout=2, attempts=2, first_pause=0.01)
TOKENS = ".I 2286\n.W\nrecov excit\n\n.I 26151\n.W\nsecond stori\n\n"
QRELS = "E11 2286 1\nECAT 2286 1\nGCAT 26151 1\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Keep tests silent."""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A folder that is served on loopback, and its address."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("TEXTCAT_MIRROR", raising=False)
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "tokens.gz").write_bytes(gzip.compress(TOKENS.encode()))
    (folder / "qrels.gz").write_bytes(gzip.compress(QRELS.encode()))
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/", folder
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def card(site: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> CorpusCard:
    """RCV1-v2 shrunk to two documents on our own server; the first address of a file is dead."""
    url = site[0]
    names = {"lyrl2004_tokens_train.dat.gz": "tokens.gz", "rcv1-v2.topics.qrels.gz": "qrels.gz"}
    package = Package(
        title="made files",
        files=tuple(RemoteFile(name=name, urls=(url + "gone", url + at)) for name, at in names.items()),
    )
    made = load_card("rcv1").model_copy(
        update={"packages": (package,), "counts": {"documents": 2, "topics": 3}}
    )
    monkeypatch.setattr(fetch_module, "load_card", lambda _: made)
    return made


def test_a_dead_address_is_skipped_and_a_second_fetch_does_nothing(
    card: CorpusCard, site, tmp_path: Path
) -> None:
    report = fetch_corpus("rcv1", tmp_path / "data", retry=QUICK)
    assert report.fresh
    assert report.counts["documents"] == 2
    assert report.verified == "published counts"
    for path in site[1].iterdir():
        path.unlink()
    again = fetch_corpus("rcv1", tmp_path / "data", retry=QUICK)
    assert not again.fresh
    assert again.fingerprint == report.fingerprint
    assert sorted(path.name for path in (tmp_path / "data" / ".downloads").rglob("*.gz")) == []


def test_optional_files_may_be_missing(
    card: CorpusCard, site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = card.packages[0]
    regions = RemoteFile(name="rcv1-v2.regions.qrels.gz", urls=(site[0] + "regions.gz",), optional=True)
    more = package.model_copy(update={"files": (*package.files, regions)})
    monkeypatch.setattr(fetch_module, "load_card", lambda _: card.model_copy(update={"packages": (more,)}))
    assert fetch_corpus("rcv1", tmp_path / "data", retry=QUICK).fresh
    (site[1] / "regions.gz").write_bytes((site[1] / "qrels.gz").read_bytes())
    assert fetch_corpus("rcv1", tmp_path / "more", retry=QUICK).fresh
    assert (tmp_path / "more" / "rcv1" / "rcv1-v2.regions.qrels.gz").is_file()


def test_files_of_a_killed_run_are_removed(card: CorpusCard, tmp_path: Path) -> None:
    left = tmp_path / "data" / ".rcv1.killed"
    left.mkdir(parents=True)
    (left / "half").write_text("x")
    fetch_corpus("rcv1", tmp_path / "data", retry=QUICK)
    assert not left.exists()


def _killed_at(operation: int, data: Path) -> bool:
    """Fetch in a child that is killed at its so-manieth change to a file; whether it came to that."""
    child = os.fork()
    if child:
        return exit_code_of(child) == -signal.SIGKILL
    try:
        die_at(operation, data)
        fetch_corpus("rcv1", data, retry=QUICK)
        os._exit(0)
    finally:
        os._exit(99)


def _contents(data: Path) -> dict[str, bytes]:
    found = (path for path in data.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {
        path.relative_to(data).as_posix(): path.read_bytes() for path in found if path.name != FETCH_MANIFEST
    }


def test_a_fetch_killed_at_any_change_to_a_file_can_be_repeated(card: CorpusCard, tmp_path: Path) -> None:
    fetch_corpus("rcv1", tmp_path / "whole", retry=QUICK)
    whole = _contents(tmp_path / "whole")
    kills = 0
    while _killed_at(kills + 1, data := tmp_path / f"killed{kills + 1}"):
        kills += 1
        finished = is_fetched("rcv1", data)
        assert fetch_corpus("rcv1", data, retry=QUICK).fresh is not finished
        assert _contents(data) == whole
        assert sorted(path.name for path in data.iterdir()) == [".locks", "rcv1"]
    assert kills > 20
    assert is_fetched("rcv1", data)


def test_wrong_contents_are_refused_and_removed(card: CorpusCard, site, tmp_path: Path) -> None:
    (site[1] / "tokens.gz").write_bytes(gzip.compress(TOKENS.split(".I 26151", maxsplit=1)[0].encode()))
    with pytest.raises(DataNotAvailableError, match=r"documents: 1, not 2"):
        fetch_corpus("rcv1", tmp_path / "data", retry=QUICK)
    assert not is_fetched("rcv1", tmp_path / "data")
    assert [
        path for path in (tmp_path / "data").rglob("*") if path.is_file() and path.suffix != ".lock"
    ] == []
    (site[1] / "tokens.gz").write_bytes(gzip.compress(TOKENS.encode()))
    assert fetch_corpus("rcv1", tmp_path / "data", retry=QUICK).fresh


def test_a_page_instead_of_a_file_is_bad_data(card: CorpusCard, site, tmp_path: Path) -> None:
    (site[1] / "tokens.gz").write_text("<html>Sign in</html>")
    with pytest.raises(DataNotAvailableError, match="cannot fetch") as caught:
        fetch_corpus("rcv1", tmp_path / "data", retry=QUICK)
    assert "damaged" in str(caught.value)


def test_a_mirror_at_an_address(card: CorpusCard, site, tmp_path: Path) -> None:
    (site[1] / "lyrl2004_tokens_train.dat.gz").write_bytes((site[1] / "tokens.gz").read_bytes())
    (site[1] / "rcv1-v2.topics.qrels.gz").write_bytes((site[1] / "qrels.gz").read_bytes())
    report = fetch_corpus("rcv1", tmp_path / "data", source=site[0], retry=QUICK)
    assert report.fresh
    assert site[0].split("/")[2] in report.source


def test_a_named_source_with_wrong_files_is_bad_data(card: CorpusCard, tmp_path: Path) -> None:
    (tmp_path / "lyrl2004_tokens_train.dat").write_text(TOKENS)
    (tmp_path / "rcv1-v2.topics.qrels").write_text("E11 2286 1\n")
    with pytest.raises(BadDataError, match="26151"):
        fetch_corpus("rcv1", tmp_path / "data", source=tmp_path)
    (tmp_path / "rcv1-v2.topics.qrels").write_text(QRELS)
    assert fetch_corpus("rcv1", tmp_path / "data", source=tmp_path).fresh


def test_two_processes_at_once_do_not_harm_each_other(reuters_sgml: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from textcat.corpora import fetch_corpus\n"
        "print(fetch_corpus('reuters21578', Path(sys.argv[1]), source=Path(sys.argv[2]), offline=True).fresh)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "data"), str(reuters_sgml)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = sorted(process.communicate(timeout=100)[0].strip() for process in running)
    assert said == ["False", "True"]
    assert is_fetched("reuters21578", tmp_path / "data")
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == [".locks", "reuters21578"]
