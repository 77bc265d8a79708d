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
from textcat.settings import describe_keys
from textcat.yaml_reader import suggest_names

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
    return describe_keys(_COLLECTIONS[name].options) if name in _COLLECTIONS else {}


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
    text: str | Names = Field(
        default="text",
        description="The column with the text, or a list of columns; each becomes a field of that name. "
        "Default text.",
    )
    label: str | Names = Field(
        default="label",
        description="The column with the labels, or a list of columns, one for each label: 1, true or yes in "
        "a document that has it, and 0, false, no or nothing in others. In JSON Lines also an "
        "object with such a mark for each label. Default label.",
    )
    id: str | None = Field(
        default=None,
        description="The column with the documents' ids. Without it, the column id if there is one, else the "
        "row's number.",
    )
    side: str | None = Field(
        default=None,
        description="The column with train, test, validation or unused (also training, testing, val, valid "
        "and dev, in any case). For folders, `folders` means that the folders of classes are in "
        "folders of these names. Without it, documents are split at random.",
    )
    test: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="A second file with the test documents, relative to the folder of `corpus.path`; for "
        "tables only.",
    )
    validation: Literal["train", "test", "unused"] = Field(
        default="unused", description="With side, the use of validation documents: unused, train or test."
    )
    label_separator: Annotated[str, Field(min_length=1)] | None = Field(
        default=",",
        description="The separator of several labels in one cell. With null a cell is one label, which is the "
        "default with `single_label`. Lists are read as they are, also those written as text, "
        "such as `['a', 'b']`.",
    )
    encoding: Annotated[str, AfterValidator(_check_encoding)] = Field(
        default="utf-8",
        description="The encoding of the files, such as utf-8 or latin-1. For folders also each-file: a file "
        "that is not utf-8 is cp1252 or latin-1.",
    )
    categories: Names | None = Field(
        default=None, description="The list of allowed labels. Without it, all that occur."
    )
    ratio: Ratio | None = Field(
        default=4,
        description="Without side and test, the number of training documents for each test document; null "
        "makes all documents training documents.",
    )
    seed: Seed = Field(default=0, description="The seed of the random split.")
    policy: Annotated[dict[str, str], AfterValidator(_check_policy)] | None = Field(
        default=None,
        description="The action for each kind of problem: encoding (replace, skip, error), malformed (error, "
        "skip), missing (error, skip), unknown-label (drop, skip, error), unknown-side (error, "
        "skip), duplicate-id (skip, rename, error), empty (keep, skip, error). The first is the "
        "default; `all: error` makes every problem an error. With `missing: skip` a document that "
        "lacks one of several texts is kept, with an empty one in its place. A field of more than "
        "50 lines, which may have a quote that is not closed, is kept and reported (long-field).",
    )
    same_name: Annotated[str, _one_of("apart", "one")] = Field(
        default="apart",
        description="For folders: files of one name in several classes are different documents (apart), or "
        "one document with all these labels (one).",
    )
    label_names: bool = Field(
        default=False,
        description="Whether the words of each label's name, such as card_arrival, are one more training "
        "document of the label. They help where labels have few documents.",
    )


class _SvmlightOptions(_Options):
    test: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        description="A second file with the test documents, relative to the folder of `corpus.path`. Without "
        "it, documents are split at random.",
    )
    categories: Names | None = Field(
        default=None, description="The list of allowed labels. Without it, all that occur."
    )
    ratio: Ratio | None = Field(
        default=4,
        description="Without test, the number of training documents for each test document; null makes all "
        "documents training documents.",
    )
    seed: Seed = Field(default=0, description="The seed of the random split.")


class _ReutersOptions(_Options):
    labels: Annotated[str, _one_of(*reuters21578.REUTERS_LABELS)] = Field(
        default="topics", description="The label set to learn, such as topics, places or people."
    )
    unprocessed: Annotated[str, _one_of("body", "dropped")] = Field(
        default="body",
        description="Text outside the title and body elements is the body (body), or is dropped (dropped).",
    )


class _Clinc150Options(_Options):
    out_of_scope: Annotated[str, _one_of("dropped", "class")] = Field(
        default="dropped",
        description="Queries of no intent are dropped, or documents with the label oos (class).",
    )


class _EurlexOptions(_Options):
    labels: Annotated[str, _one_of("id", "name")] = Field(
        default="id",
        description="Names of the concepts, their EuroVoc numbers (id) or their English names (name).",
    )


class _NewsgroupsOptions(_Options):
    headers: Annotated[str, _one_of("dropped", "subject", "kept", "without-groups")] = Field(
        default="dropped",
        description="The lines above the message are dropped, kept as a field (kept), kept without "
        "Newsgroups, Xref and Path (without-groups), or only the subject is kept as a field "
        "(subject).",
    )


class _WebKBOptions(_Options):
    subset: Annotated[str, _one_of(*webkb.SUBSETS)] = Field(
        default="all",
        description="All pages (all), those of the four universities (4-universities), or the six classes of "
        "zhang_jin_2003 (univ-6).",
    )
    markup: Annotated[str, _one_of("dropped", "kept", "html-only", "header-only")] = Field(
        default="dropped",
        description="Whether MIME header and HTML tags are dropped or kept as words, or only one of the two "
        "is kept (html-only, header-only).",
    )
    classes: list[Annotated[str, _one_of(*webkb.CLASSES)]] | None = Field(
        default=None, min_length=1, description="The classes to use, instead of those of the subset."
    )
    sites: list[Annotated[str, _one_of(*webkb.SITES)]] | None = Field(
        default=None, min_length=1, description="The sites to use, instead of those of the subset."
    )


class _OhsumedOptions(_Options):
    complete_only: bool = Field(
        default=True, description="Leave out references without a title, an abstract or headings."
    )
    min_train: Annotated[int, Field(ge=0)] = Field(
        default=15, description="The minimum number of training documents of a category."
    )
    categories: Names | None = Field(
        default=None, description="The list of headings, instead of the list of heart diseases."
    )


class _Rcv1Options(_Options):
    labels: Annotated[str, _one_of(*rcv1.RCV1_LABELS)] = Field(
        default="topics", description="The label set to learn, topics, industries or regions."
    )
    seed: Seed = Field(
        default=2004, description="The seed of the sample of test documents (split lyrl2004-sample)."
    )


class _Rcv1LikeOptions(_Rcv1Options):
    labels: Annotated[str, _one_of(*rcv1.RCV1_LABELS)] = Field(
        default="topics", description="The label set to learn; generated collections have topics only."
    )


class _Rcv1SubsetOptions(_Options):
    ratio: Ratio = Field(default=1.0, description="The number of training documents for each test document.")
    seed: Seed = Field(default=2004, description="The seed of the random split.")


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
    "rcv1-like": _Collection(rcv1.Rcv1, _Rcv1LikeOptions),
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
