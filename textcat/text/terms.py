"""Turn distinct pieces of text into terms: cut them into words, drop stop words, stem, add prefixes.

Stop lists are bundled ones by name, files by path, or words. Stemmers are variants of Porter's, by name; stemming every
token instead of distinct words would be slow.
"""

from __future__ import annotations

import codecs
import hashlib
import importlib
import importlib.util
import os
import stat
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, TypedDict

import numpy as np
from scipy.sparse import csr_array

from textcat.errors import BadDataError, DataNotAvailableError, UsageError
from textcat.text.text_settings import StemmerName, TextSettings
from textcat.text.tokenizers import TOKENIZERS, Tokenizer
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
    """Lowercased words, and the sha256 of their file's bytes, which identifies the list in signatures."""

    name: str
    words: frozenset[str] = frozenset()
    sha256: str = ""


@cache
def load_stop_list_entries() -> dict[str, StopListEntry]:
    """Return the entries of the bundled lists, by name."""
    return dict(read_packaged_yaml("text/stop_lists/stop_lists.yaml"))


def load_stop_list(given: str | Sequence[str]) -> StopList:
    """Return a list of words, the bundled list of a name, or that of a UTF-8 text file by path, one word per line."""
    if not isinstance(given, str):
        return _make_stop_list("words", given, "the settings")
    entry = load_stop_list_entries().get(given)
    if entry is None:
        return _read_stop_list(given, Path(given).expanduser())
    return _read_stop_list(given, STOP_LIST_FOLDER / entry["file"]) if entry["file"] else StopList(given)


def is_stop_list_file(given: str | Sequence[str]) -> bool:
    """Return whether a stop list is given by the path of a file."""
    return isinstance(given, str) and given not in load_stop_list_entries()


def stop_list_identity(given: str | Sequence[str]) -> dict[str, str]:
    """Return the sha256 of a list given by path, for a recipe; nothing for a bundled list or words."""
    return {"stop_list_sha256": load_stop_list(given).sha256} if is_stop_list_file(given) else {}


def hold_stop_words(settings: TextSettings) -> TextSettings:
    """Return settings with the words of a stop list in place of its path, so that they need no file."""
    given = settings.stop_list
    words = tuple(sorted(load_stop_list(given).words)) if is_stop_list_file(given) else given
    return settings.model_copy(update={"stop_list": words})


# Larger than any list of words to leave out: a path can name a device or any file of the system.
_MOST_BYTES = 1 << 20


def _read_stop_list(name: str, path: Path) -> StopList:
    try:
        # Opening a pipe would wait for its writer.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as opened:
            is_file = stat.S_ISREG(os.fstat(opened.fileno()).st_mode)
            content = opened.read(_MOST_BYTES + 1) if is_file else b""
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise _make_unknown_error(name) from None
    except OSError as error:
        raise DataNotAvailableError(
            f"the stop list cannot be read: {error.strerror}",
            where=str(path),
            hint="Name a text file with one word per line, or a bundled list.",
        ) from error
    if not is_file or len(content) > _MOST_BYTES:
        what = f"larger than {_MOST_BYTES:,} bytes" if is_file else "no regular file"
        hint = "Name a text file with one word per line."
        raise BadDataError(f"the stop list is {what}", where=str(path), hint=hint)
    # Editors put a byte-order mark before the first word; a list is identified by its words.
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        lines = content.decode("utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise BadDataError(
            f"the stop list is not UTF-8 at byte {error.start}",
            where=str(path),
            hint="Save the file as UTF-8, one word per line.",
        ) from error
    return _make_stop_list(name, lines, str(path), hashlib.sha256(content).hexdigest())


def _make_stop_list(name: str, lines: Sequence[str], where: str, sha256: str = "") -> StopList:
    words = [line.strip().lower() for line in lines]
    for number, word in enumerate(words, start=1):
        if len(word.split()) > 1:
            raise BadDataError(
                "a line of the stop list holds more than one word",
                where=f"{where}:{number}",
                hint="Put one word on a line.",
            )
    return StopList(name, frozenset(filter(None, words)), sha256)


def _make_unknown_error(name: str) -> UsageError:
    names = sorted(load_stop_list_entries())
    close = get_close_matches(name, names, n=1)
    guess = f"Did you mean {close[0]}? " if close else ""
    return UsageError(
        f"there is no stop list {name!r}, neither by name nor as a file",
        hint=f"{guess}Name one of {', '.join(names)}, or the path of a text file with one word per line.",
    )


# Name -> mode of NLTK's PorterStemmer.
_MODES = {
    # The algorithm as printed in Porter (1980).
    "porter_original": "ORIGINAL_ALGORITHM",
    # With the departures of Porter's own programs: -bli, -logi, words of two letters.
    "porter_martin": "MARTIN_EXTENSIONS",
    # NLTK's default: further departures and a short list of irregular forms.
    "porter_extensions": "NLTK_EXTENSIONS",
    # porter_martin where a word begins with a small letter a to z, as in Lemur.
    "porter_lemur": "MARTIN_EXTENSIONS",
}


@cache
def _load_porter_stemmer() -> Any:
    """Return NLTK's PorterStemmer without the rest of NLTK, which takes longer to import than a model to predict.

    Its module is imported below empty packages, which are removed afterwards, so that a later import of NLTK is not
    affected.
    """
    if "nltk" in sys.modules:
        return importlib.import_module("nltk.stem.porter").PorterStemmer
    found = importlib.util.find_spec("nltk")
    try:
        for package, folder in (("nltk", ""), ("nltk.stem", "stem")):
            empty = ModuleType(package)
            empty.__path__ = [str(Path(place) / folder) for place in found.submodule_search_locations or ()]  # type: ignore[union-attr]
            sys.modules[package] = empty
        return importlib.import_module("nltk.stem.porter").PorterStemmer
    except (AttributeError, ImportError):
        # Another version of NLTK may need its packages.
        _forget_nltk()
        return importlib.import_module("nltk.stem.porter").PorterStemmer
    finally:
        if not hasattr(sys.modules.get("nltk"), "__version__"):
            _forget_nltk()


def _forget_nltk() -> None:
    for name in [name for name in sys.modules if name == "nltk" or name.startswith("nltk.")]:
        del sys.modules[name]


def make_stemmer(name: StemmerName) -> Callable[[str], str]:
    """Return the function from a word to its stem."""
    if name == "none":
        return str
    stemmer = _load_porter_stemmer()
    porter = stemmer(mode=getattr(stemmer, _MODES[name]))

    def stem(word: str) -> str:
        return str(porter.stem(word, to_lowercase=False))

    return (lambda word: stem(word) if "a" <= word[:1] <= "z" else word) if name == "porter_lemur" else stem


def make_term_extractor(settings: TextSettings) -> Callable[[str], list[str]]:
    """Return the function from a piece of text to its terms."""
    cut = TOKENIZERS[settings.tokenizer].make_cutter(lowercase=settings.lowercase)
    stem = cache(make_stemmer(settings.stem))
    stop_words = load_stop_list(settings.stop_list).words
    if settings.stem == "none" and not stop_words:
        return cut
    if settings.stop_when == "before_stemming":
        return lambda piece: [stem(word) for word in cut(piece) if word.lower() not in stop_words]
    stop_stems = frozenset(map(stem, stop_words))
    return lambda piece: [term for word in cut(piece) if (term := stem(word)).lower() not in stop_stems]


def map_pieces_to_terms(
    groups: Iterable[tuple[str, Iterable[str]]], settings: TextSettings
) -> tuple[list[str], list[csr_array]]:
    """Return the sorted terms of groups of pieces, given with their prefixes, and a matrix for each group.

    The matrices are pieces x terms: counts of pieces times such a matrix are counts of terms.
    """
    make = None if _are_pieces_terms(settings) else make_term_extractor(settings)
    made = [_list_terms(make, prefix, pieces) for prefix, pieces in groups]
    terms = sorted(set(chain.from_iterable(found for found, _ in made)))
    column = {term: number for number, term in enumerate(terms)}
    matrices = []
    for found, ends in made:
        columns = np.array([column[term] for term in found], dtype=np.int32)
        data = (np.ones(len(columns), dtype=np.int32), columns, np.array(ends, dtype=np.int32))
        matrices.append(csr_array(data, shape=(len(ends) - 1, len(terms))))
    return terms, matrices


def _are_pieces_terms(settings: TextSettings) -> bool:
    """Return whether every piece is a term as it is."""
    tokenizer = TOKENIZERS[settings.tokenizer]
    plain = isinstance(tokenizer, Tokenizer) and tokenizer.gives_words(lowercase=settings.lowercase)
    return plain and settings.stem == "none" and not load_stop_list(settings.stop_list).words


def _list_terms(
    make: Callable[[str], list[str]] | None, prefix: str, pieces: Iterable[str]
) -> tuple[list[str], list[int]]:
    """Return the terms of all pieces in one list, and the ends of each piece's terms; without `make` pieces are terms.

    One list for each piece would be simpler, but so many live objects slow the garbage collector down.
    """
    if make is None:
        words = [prefix + piece for piece in pieces]
        return words, list(range(len(words) + 1))
    found: list[str] = []
    ends = [0]
    for piece in pieces:
        found += [prefix + term for term in make(piece)]
        ends.append(len(found))
    return found, ends
