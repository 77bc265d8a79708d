"""Bundled stop lists have their known sizes; a reader's own file is read, or refused with a reason."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tests.loops import for_each
from textcat.errors import BadDataError, TextcatError, UsageError
from textcat.text.terms import (
    load_stop_list,
    load_stop_list_entries,
    stop_list_identity,
)


@for_each("name", load_stop_list_entries())
def test_bundled_lists_have_their_stated_size(name: str) -> None:
    stop_list = load_stop_list(name)
    assert len(stop_list.words) == load_stop_list_entries()[name]["words"]
    assert all(word == word.lower().strip() for word in stop_list.words)


def test_glasgow_is_that_of_scikit_learn_with_and_without_computer() -> None:
    shorter, longer = load_stop_list("glasgow_318").words, load_stop_list("glasgow_319").words
    assert shorter == ENGLISH_STOP_WORDS
    assert longer - shorter == {"computer"}


def test_own_file(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("The\n\nof \n\u00fcber\n", encoding="utf-8")
    stop_list = load_stop_list(str(path))
    assert stop_list.words == {"the", "of", "\u00fcber"}
    assert stop_list.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_byte_order_mark_is_no_part_of_the_first_word(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_bytes(b"the\r\nof\r\n")
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbfthe\r\nof\r\n")
    plain, marked = (load_stop_list(str(tmp_path / f"{name}.txt")) for name in ("plain", "marked"))
    assert plain.words == marked.words == {"the", "of"}
    assert plain.sha256 == marked.sha256


def test_unknown_name_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean smart"):
        load_stop_list("smrat")
    with pytest.raises(UsageError, match="glasgow_319"):
        load_stop_list(str(tmp_path / "absent.txt"))
    with pytest.raises(UsageError):
        load_stop_list(str(tmp_path))


@for_each(("content", "where"), [(b"the\nof the\n", "own.txt:2"), (b"caf\xe9\n", "own.txt")])
def test_broken_file_says_where(tmp_path: Path, content: bytes, where: str) -> None:
    path = tmp_path / "own.txt"
    path.write_bytes(content)
    with pytest.raises(BadDataError) as raised:
        load_stop_list(str(path))
    error: TextcatError = raised.value
    assert error.where.endswith(where)
    assert error.hint


def test_only_lists_given_by_path_have_an_identity_in_recipes(tmp_path: Path) -> None:
    """The name identifies a bundled list; a file is identified by its content."""
    path = tmp_path / "own.txt"
    path.write_text("the\n")
    assert stop_list_identity(str(path)) == {"stop_list_sha256": hashlib.sha256(b"the\n").hexdigest()}
    assert all(stop_list_identity(name) == {} for name in load_stop_list_entries())


def test_a_line_with_two_words_says_which_line(tmp_path: Path) -> None:
    path = tmp_path / "own.txt"
    path.write_text("the\n  of  \n\nin the\n")
    with pytest.raises(BadDataError, match="more than one word") as raised:
        load_stop_list(str(path))
    assert raised.value.where == f"{path}:4"


def test_devices_pipes_and_large_files_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"word\n" * 300_000)
    for path in ("/dev/zero", "/dev/stdin", str(tmp_path / "pipe"), str(tmp_path / "large")):
        with pytest.raises(BadDataError, match=r"no regular file|larger than 1,048,576 bytes"):
            load_stop_list(path)


def test_an_error_does_not_quote_the_file(tmp_path: Path) -> None:
    (tmp_path / "passwords").write_text("root secret\n")
    with pytest.raises(BadDataError) as raised:
        load_stop_list(str(tmp_path / "passwords"))
    assert "secret" not in str(raised.value)


def test_words_may_be_given_themselves() -> None:
    assert load_stop_list(("The", "of")).words == {"the", "of"}
    assert stop_list_identity(("the",)) == {}
