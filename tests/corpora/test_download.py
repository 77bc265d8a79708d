"""Downloading from a server that truncates, lies, redirects in circles, drips and refuses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpora.hostile_server import BODY, SHA256, Log, serving
from textcat.corpora.fetch.download import Download, RetryPolicy
from textcat.errors import BadDataError, DataNotAvailableError

QUICK = RetryPolicy(timeout=0.5, attempts=4, first_pause=1.0, slowest_rate=1e6, slow_for=0.2)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Log]]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving() as running:
        yield running


def download(url: str, folder: Path, **options) -> tuple[str, list[float]]:
    pauses: list[float] = []
    options = {"retry": QUICK, "sha256": SHA256} | options
    digest = Download(url, folder / "file", sleep=pauses.append, **options).run()
    return digest, pauses


def assert_whole(folder: Path) -> None:
    assert (folder / "file").read_bytes() == BODY
    assert [path.name for path in folder.iterdir()] == ["file"]


@pytest.mark.parametrize("path", ["good", "unannounced", "redirect"])
def test_a_good_file_is_downloaded_at_once(server, tmp_path: Path, path: str) -> None:
    digest, pauses = download(server[0] + path, tmp_path)
    assert digest == SHA256
    assert pauses == []
    assert_whole(tmp_path)


def test_an_interrupted_transfer_is_resumed(server, tmp_path: Path) -> None:
    url, log = server
    _, pauses = download(url + "truncated-twice", tmp_path)
    assert_whole(tmp_path)
    assert log.ranges == [None, "bytes=100000-", "bytes=200000-"]
    assert pauses == [1.0, 2.0]


def test_a_later_run_resumes_an_earlier_one(server, tmp_path: Path) -> None:
    url, log = server
    with pytest.raises(
        DataNotAvailableError, match=r"received only 100000 of 512000 bytes \(tried 1 times\)"
    ):
        download(url + "truncated-twice", tmp_path, retry=RetryPolicy(attempts=1))
    assert not (tmp_path / "file").exists()
    download(url + "truncated-twice", tmp_path)
    assert log.ranges[1] == "bytes=100000-"
    assert_whole(tmp_path)


def test_without_etag_or_hash_a_transfer_restarts(server, tmp_path: Path) -> None:
    url, log = server
    download(url + "truncated-without-etag", tmp_path, sha256=None)
    assert log.ranges == [None, None]
    assert_whole(tmp_path)


@pytest.mark.parametrize("path", ["range-ignored", "wrong-range", "range-refused"])
@pytest.mark.parametrize("sha256", [None, SHA256])
def test_servers_with_wrong_ranges(server, tmp_path: Path, path: str, sha256: str | None) -> None:
    download(server[0] + path, tmp_path, sha256=sha256)
    assert_whole(tmp_path)


def test_parts_of_two_versions_are_not_joined(server, tmp_path: Path) -> None:
    download(server[0] + "changed-between", tmp_path, sha256=None)
    assert_whole(tmp_path)


def test_another_address_never_continues_a_part(server, tmp_path: Path) -> None:
    url, log = server
    (tmp_path / "file.part").write_bytes(b"zzz")
    (tmp_path / "file.part.json").write_text('{"url": "http://elsewhere/file", "validator": "\\"first\\""}')
    download(url + "truncated-twice", tmp_path, sha256=None)
    assert log.ranges[0] is None
    assert_whole(tmp_path)


def test_a_part_with_a_wrong_hash_is_dropped(server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(b"z" * 1000)
    download(server[0] + "truncated-twice", tmp_path, retry=RetryPolicy(attempts=6))
    assert_whole(tmp_path)


def test_a_file_with_a_wrong_hash_is_deleted(server, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(BadDataError, match="sha256"):
            download(server[0] + "wrong", tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_an_endless_file_is_stopped(server, tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="more than 1000000 bytes"):
        download(server[0] + "endless", tmp_path, max_bytes=1_000_000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("path", "answer"), [("missing", "404"), ("forbidden", "403")])
def test_permanent_failures_are_not_retried(server, tmp_path: Path, path: str, answer: str) -> None:
    url, log = server
    with pytest.raises(DataNotAvailableError, match=answer) as caught:
        download(url + path, tmp_path)
    assert caught.value.where == url + path
    assert len(log.paths) == 1


def test_a_busy_server_is_retried_with_growing_pauses(server, tmp_path: Path) -> None:
    _, pauses = download(server[0] + "busy-then-good", tmp_path)
    assert pauses == [1.0, 2.0]
    assert_whole(tmp_path)


def test_a_server_that_never_finishes_is_an_error(server, tmp_path: Path) -> None:
    url, log = server
    with pytest.raises(DataNotAvailableError, match="tried 4 times"):
        download(url + "always-truncated", tmp_path, sha256=None)
    assert len(log.paths) == 4
    assert not (tmp_path / "file").exists()


@pytest.mark.parametrize("path", ["loop", "endless-redirects"])
def test_redirects_in_circles_end(server, tmp_path: Path, path: str) -> None:
    url, log = server
    with pytest.raises(DataNotAvailableError, match="302"):
        download(url + path, tmp_path)
    assert len(log.paths) <= 12


def test_a_redirect_to_a_local_file_is_refused(server, tmp_path: Path) -> None:
    with pytest.raises(DataNotAvailableError, match="redirect"):
        download(server[0] + "redirect-to-file", tmp_path)


@pytest.mark.parametrize("path", ["drip", "silence"])
def test_slow_servers_are_an_error(server, tmp_path: Path, path: str) -> None:
    retry = RetryPolicy(timeout=0.3, attempts=2, slowest_rate=1e6, slow_for=0.1)
    with pytest.raises(DataNotAvailableError, match=r"too slow|failed"):
        download(server[0] + path, tmp_path, retry=retry, sha256=None)


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://127.0.0.1/x"])
def test_other_schemes_are_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(DataNotAvailableError, match="not an http"):
        download(address, tmp_path)


def test_a_closed_port_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with pytest.raises(DataNotAvailableError, match="refused"):
        download("http://127.0.0.1:9/file", tmp_path)


def test_proxies_come_from_the_environment(server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url, log = server
    monkeypatch.setenv("http_proxy", url)
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(DataNotAvailableError):
        download("http://some.host.invalid/missing", tmp_path)
    assert log.paths[0].endswith("http://some.host.invalid/missing") or "some.host" in log.paths[0]
