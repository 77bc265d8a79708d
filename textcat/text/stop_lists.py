"""Stop lists, bundled ones by name and others by the path of a file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TypedDict

from textcat.errors import BadDataError, DataNotAvailableError, UsageError
from textcat.yaml_reader import read_packaged_yaml

STOP_LIST_FOLDER = Path(__file__).parent / "stop_lists"


class StopListEntry(TypedDict):
    """The entry of a bundled list in `stop_lists.yaml`."""

    file: str | None
    words: int
    description: str
    origin: str


@dataclass(frozen=True)
class StopList:
    """Lowercased words, and the sha256 of the file's bytes, which identifies the list in signatures."""

    name: str
    words: frozenset[str]
    sha256: str


@cache
def load_stop_list_entries() -> dict[str, StopListEntry]:
    """Return the entries of the bundled lists, by name."""
    entries: dict[str, StopListEntry] = read_packaged_yaml("text/stop_lists/stop_lists.yaml")
    return entries


def load_stop_list(name: str) -> StopList:
    """Return the bundled list of that name, or the list in the UTF-8 text file at that path, one word per line."""
    entry = load_stop_list_entries().get(name)
    if entry is None:
        return _read_stop_list(name, Path(name).expanduser())
    return (
        StopList(name, frozenset(), _hash_content(b""))
        if entry["file"] is None
        else _read_stop_list(name, STOP_LIST_FOLDER / entry["file"])
    )


def stop_list_identity(name: str) -> dict[str, str]:
    """Return the sha256 of a list given by path, for a recipe; nothing for a bundled list."""
    return {} if name in load_stop_list_entries() else {"stop_list_sha256": load_stop_list(name).sha256}


def _read_stop_list(name: str, path: Path) -> StopList:
    try:
        content = path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise _make_unknown_error(name) from None
    except OSError as error:
        raise DataNotAvailableError(
            f"the stop list cannot be read: {error.strerror}",
            where=str(path),
            hint="Name a text file with one word per line, or a bundled list.",
        ) from error
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise BadDataError(
            f"the stop list is not UTF-8 at byte {error.start}",
            where=str(path),
            hint="Save the file as UTF-8, one word per line.",
        ) from error
    words = [line.strip().lower() for line in lines]
    for number, word in enumerate(words, start=1):
        if len(word.split()) > 1:
            raise BadDataError(
                f"a line of the stop list holds more than one word: {word!r}",
                where=f"{path}:{number}",
                hint="Put one word on a line.",
            )
    return StopList(name, frozenset(filter(None, words)), _hash_content(content))


def _make_unknown_error(name: str) -> UsageError:
    names = sorted(load_stop_list_entries())
    close = get_close_matches(name, names, n=1)
    guess = f"Did you mean {close[0]}? " if close else ""
    return UsageError(
        f"there is no stop list {name!r}, neither by name nor as a file",
        hint=f"{guess}Name one of {', '.join(names)}, or the path of a text file with one word per line.",
    )


def _hash_content(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
