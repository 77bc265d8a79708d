"""Open a collection by name, count it for verification, and check its options.

`corpus.options` are checked against the types of a collection's options before any document is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from textcat.corpora.cards import load_card
from textcat.corpora.collections import clinc150, eurlex57k, newsgroups20, ohsumed, rcv1, reuters21578, webkb
from textcat.corpora.document import Corpus
from textcat.corpora.own import documents as own
from textcat.corpora.own.problems import Problems
from textcat.corpora.own.tables import TABLES
from textcat.corpora.vector_files import VectorCorpus, fingerprint_svmlight, open_svmlight
from textcat.errors import UsageError
from textcat.extensions import claim_name
from textcat.yaml_reader import read_packaged_yaml, suggest_names

# Formats of a user's own documents. Their `folder` is a file, except for `folders` and `rcv1-like` (token files in
# the format of RCV1-v2).
OWN_TEXT_FORMATS = (*TABLES, "folders")
OWN_FORMATS = (*OWN_TEXT_FORMATS, "svmlight", "rcv1-like")


def list_known_corpora() -> frozenset[str]:
    """Return the names of all collections and formats."""
    return frozenset(_COLLECTIONS)


def is_own(name: str) -> bool:
    """Return whether the documents are at `corpus.path`: a format of own documents, or a registered collection."""
    return name in OWN_FORMATS or name in _REGISTERED


def list_vector_corpora() -> tuple[str, ...]:
    """Return the names of collections and formats of vectors."""
    return tuple(_VECTORS)


def open_corpus(name: str, folder: Path, *, split: str | None = None, **options: Any) -> Corpus:
    """Open a collection of text in `folder`; the default split is the first that its card lists."""
    corpus: Corpus = _open(_TEXTS, name, folder, split, options)
    return corpus


def open_vectors(name: str, folder: Path, *, split: str | None = None, **options: Any) -> VectorCorpus:
    """Read a collection of vectors in `folder`."""
    corpus: VectorCorpus = _open(_VECTORS, name, folder, split, options)
    return corpus


def _open(
    known: dict[str, _Collection], name: str, folder: Path, split: str | None, options: dict[str, Any]
) -> Any:
    if name not in known and name in _COLLECTIONS:
        own, wanted = ("text", "vectors") if known is _VECTORS else ("vectors", "text")
        hint = f"Choose a collection of {wanted}, or open this one as {own}."
        raise UsageError(f"{name} is a collection of {own}, not of {wanted}", hint=hint)
    if name not in known:
        names = ", ".join(sorted(known))
        raise UsageError(f"unknown collection {name!r}", hint=f"Known: {names}.")
    if fault := find_option_fault(name, options):
        raise UsageError(fault.what, hint=fault.hint)
    if split and name in _REGISTERED:
        options = options | {"split": split}
    elif split:
        _check_split(name, split)
        if "split" in signature(known[name].open).parameters:
            options = options | {"split": split}
    return known[name].open(folder, **options)


def _check_split(name: str, split: str) -> None:
    """Raise UsageError unless the card of a collection lists the split."""
    card = "rcv1" if name == "rcv1-like" else name
    splits = () if card in OWN_FORMATS else tuple(load_card(card).splits)
    if split not in splits:
        hint = f"Choose from {', '.join(splits)}." if splits else "Leave `split` out."
        raise UsageError(f"{name} has no split {split!r}", hint=hint)


def load_option_descriptions(name: str) -> dict[str, str]:
    """Return the description of each option of a collection's reader."""
    table = read_packaged_yaml("corpora/options.yaml")
    return dict(table.get("own" if name in OWN_TEXT_FORMATS else name, {}))


def fingerprint_corpus(name: str, folder: Path, **options: Any) -> str:
    """Return the sha256 of the contents of the files that are read with these options."""
    if name == "svmlight":
        return fingerprint_svmlight(folder, options.get("test"))
    opening: Any = open_vectors if name in _VECTORS else open_corpus
    return str(opening(name, folder, **options).fingerprint())


def count_corpus(name: str, folder: Path) -> dict[str, int]:
    """Return the counts of a collection's files that its card states too."""
    return _COLLECTIONS[name].count(folder)


def _one_of(*names: str) -> AfterValidator:
    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"should be one of {', '.join(names)}")
        return value

    return AfterValidator(check)


def _check_encoding(value: str) -> str:
    if value == own.EACH_FILE:
        return value
    try:
        newline = "\n".encode(value)
    except (LookupError, ValueError) as error:
        raise ValueError(
            "should be an encoding of text that Python knows, such as utf-8 or latin-1"
        ) from error
    if newline != b"\n":
        raise ValueError("should be an encoding with plain line ends; convert the files to utf-8")
    return value


def _check_policy(value: dict[str, str]) -> dict[str, str]:
    try:
        Problems.with_policy(value)
    except UsageError as error:
        raise ValueError(f"{error.what}. {error.hint}") from error
    return value


def _check_distinct(values: list[str]) -> list[str]:
    if len(set(values)) < len(values):
        raise ValueError("should not name anything twice")
    return values


Names = Annotated[list[str], Field(min_length=1), AfterValidator(_check_distinct)]
Seed = Annotated[int, Field(ge=0)]
Ratio = Annotated[float, Field(gt=0, le=1e9)]


class _Options(BaseModel):
    """Base class: only the named options, and no text where a number belongs."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class _OwnOptions(_Options):
    text: str | Names = "text"
    label: str | Names = "label"
    id: str | None = None
    side: str | None = None
    test: Annotated[str, Field(min_length=1)] | None = None
    validation: Literal["train", "test", "unused"] = "unused"
    label_separator: Annotated[str, Field(min_length=1)] | None = ","
    encoding: Annotated[str, AfterValidator(_check_encoding)] = "utf-8"
    categories: Names | None = None
    ratio: Ratio | None = 4
    seed: Seed = 0
    policy: Annotated[dict[str, str], AfterValidator(_check_policy)] | None = None
    same_name: Annotated[str, _one_of("apart", "one")] = "apart"
    label_names: bool = False


class _SvmlightOptions(_Options):
    test: Annotated[str, Field(min_length=1)] | None = None
    categories: Names | None = None
    ratio: Ratio | None = 4
    seed: Seed = 0


class _ReutersOptions(_Options):
    labels: Annotated[str, _one_of(*reuters21578.REUTERS_LABELS)] = "topics"
    unprocessed: Annotated[str, _one_of("body", "dropped")] = "body"


class _Clinc150Options(_Options):
    out_of_scope: Annotated[str, _one_of("dropped", "class")] = "dropped"


class _EurlexOptions(_Options):
    labels: Annotated[str, _one_of("id", "name")] = "id"


class _NewsgroupsOptions(_Options):
    headers: Annotated[str, _one_of("dropped", "subject", "kept", "without-groups")] = "dropped"


class _WebKBOptions(_Options):
    subset: Annotated[str, _one_of(*webkb.SUBSETS)] = "all"
    markup: Annotated[str, _one_of("dropped", "kept", "html-only", "header-only")] = "dropped"
    classes: list[Annotated[str, _one_of(*webkb.CLASSES)]] | None = Field(default=None, min_length=1)
    sites: list[Annotated[str, _one_of(*webkb.SITES)]] | None = Field(default=None, min_length=1)


class _OhsumedOptions(_Options):
    complete_only: bool = True
    min_train: Annotated[int, Field(ge=0)] = 15
    categories: Names | None = None


class _Rcv1Options(_Options):
    labels: Annotated[str, _one_of(*rcv1.RCV1_LABELS)] = "topics"
    seed: Seed = 2004


class _Rcv1SubsetOptions(_Options):
    ratio: Ratio = 1.0
    seed: Seed = 2004


@dataclass(frozen=True)
class _Collection:
    """What opens a collection or format, the types of its options, and what counts its files for verification."""

    open: Callable[..., Any]
    options: type[_Options]
    count: Callable[[Path], dict[str, int]] = lambda _: {}


_TEXTS = {
    "20newsgroups": _Collection(newsgroups20.Newsgroups, _NewsgroupsOptions, newsgroups20.count_newsgroups),
    "clinc150": _Collection(clinc150.Clinc150, _Clinc150Options, clinc150.count_clinc150),
    "eurlex57k": _Collection(eurlex57k.Eurlex57k, _EurlexOptions, eurlex57k.count_eurlex57k),
    "industry-sector": _Collection(webkb.IndustrySector, _Options, webkb.count_industry_sector),
    "ohsumed": _Collection(ohsumed.Ohsumed, _OhsumedOptions, ohsumed.count_ohsumed),
    "ohsumed-23": _Collection(ohsumed.Ohsumed23, _Options, ohsumed.count_ohsumed23),
    "rcv1": _Collection(rcv1.Rcv1, _Rcv1Options, rcv1.count_rcv1),
    "rcv1-like": _Collection(rcv1.Rcv1, _Rcv1Options),
    "reuters21578": _Collection(reuters21578.Reuters21578, _ReutersOptions, reuters21578.count_reuters21578),
    "webkb": _Collection(webkb.WebKB, _WebKBOptions, webkb.count_webkb),
    **{form: _Collection(partial(own.OwnDocuments, form), _OwnOptions) for form in OWN_TEXT_FORMATS},
}
_VECTORS = {
    "rcv1-subset": _Collection(rcv1.open_rcv1_subset, _Rcv1SubsetOptions, rcv1.count_subset),
    "rcv1-vectors": _Collection(rcv1.open_rcv1_vectors, _Rcv1Options, rcv1.count_vectors),
    "svmlight": _Collection(open_svmlight, _SvmlightOptions),
}
_COLLECTIONS = {**_TEXTS, **_VECTORS}
_REGISTERED: set[str] = set()


def register_collection(name: str, open_documents: Callable[..., Corpus]) -> None:
    """Add a collection: `open_documents(path, **options)` returns a `Corpus`; `path` is `corpus.path`.

    The options are those of the experiment, and `split` if it names one.
    """
    claim_name("collection", name, _COLLECTIONS)
    _TEXTS[name] = _COLLECTIONS[name] = _Collection(open_documents, _Options)
    _REGISTERED.add(name)


@dataclass(frozen=True)
class OptionFault:
    """A value that a reader does not take: its keys below `options`, and what is wrong."""

    keys: Sequence[str | int]
    what: str
    hint: str


def list_reader_options(name: str) -> dict[str, Any]:
    """Return the options of the reader of a built-in collection or format, except `split`, with their defaults."""
    return {key: field.default for key, field in _COLLECTIONS[name].options.model_fields.items()}


def find_option_fault(name: str, options: dict[str, object]) -> OptionFault | None:
    """Return the first wrong option of a collection or format, or None; those of registered ones are not checked."""
    if name not in _COLLECTIONS or name in _REGISTERED:
        return None
    try:
        _COLLECTIONS[name].options.model_validate(options)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        key = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            hint = suggest_names(key, list_reader_options(name))
            if key == "split":
                hint = "Write `split` beside `options`."
            return OptionFault([key], f"{name} has no option {key!r}", hint)
        message = fault["msg"].removeprefix("Value error, ")
        now = f"It is {fault['input']!r} now." if isinstance(fault["input"], str | int | float) else ""
        keys: list[str | int] = [key, *(part for part in fault["loc"][1:] if isinstance(part, int))]
        return OptionFault(keys, f"corpus.options.{key}: {message[0].lower()}{message[1:]}", now)
    return None
