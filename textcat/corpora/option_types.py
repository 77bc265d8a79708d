"""The types of `corpus.options`, for each collection and format; checked before any document is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from textcat.corpora.collections.clinc150 import OUT_OF_SCOPE
from textcat.corpora.collections.eurlex57k import LABELS as EURLEX_LABELS
from textcat.corpora.collections.newsgroups20 import HEADERS
from textcat.corpora.collections.rcv1 import RCV1_LABELS
from textcat.corpora.collections.reuters21578 import REUTERS_LABELS, UNPROCESSED
from textcat.corpora.collections.webkb import CLASSES, MARKUP, SITES, SUBSETS
from textcat.corpora.own.folders import SAME_NAMES
from textcat.corpora.own.tables import Problems
from textcat.errors import UsageError
from textcat.yaml_reader import suggest_names


def _one_of(*names: str) -> AfterValidator:
    def check(value: str) -> str:
        if value not in names:
            raise ValueError(f"should be one of {', '.join(names)}")
        return value

    return AfterValidator(check)


def _check_encoding(value: str) -> str:
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
    label: str = "label"
    id: str | None = None
    side: str | None = None
    validation: Literal["train", "test", "unused"] = "unused"
    label_separator: Annotated[str, Field(min_length=1)] | None = ","
    encoding: Annotated[str, AfterValidator(_check_encoding)] = "utf-8"
    categories: Names | None = None
    ratio: Ratio | None = 4
    seed: Seed = 0
    policy: Annotated[dict[str, str], AfterValidator(_check_policy)] | None = None
    same_name: Annotated[str, _one_of(*SAME_NAMES)] = "apart"


class _SvmlightOptions(_Options):
    test: Annotated[str, Field(min_length=1)] | None = None
    categories: Names | None = None
    ratio: Ratio | None = 4
    seed: Seed = 0


class _ReutersOptions(_Options):
    labels: Annotated[str, _one_of(*REUTERS_LABELS)] = "topics"
    unprocessed: Annotated[str, _one_of(*UNPROCESSED)] = "body"


class _Clinc150Options(_Options):
    out_of_scope: Annotated[str, _one_of(*OUT_OF_SCOPE)] = "dropped"


class _EurlexOptions(_Options):
    labels: Annotated[str, _one_of(*EURLEX_LABELS)] = "id"


class _NewsgroupsOptions(_Options):
    headers: Annotated[str, _one_of(*HEADERS)] = "dropped"


class _WebKBOptions(_Options):
    subset: Annotated[str, _one_of(*SUBSETS)] = "all"
    markup: Annotated[str, _one_of(*MARKUP)] = "dropped"
    classes: list[Annotated[str, _one_of(*CLASSES)]] | None = Field(default=None, min_length=1)
    sites: list[Annotated[str, _one_of(*SITES)]] | None = Field(default=None, min_length=1)


class _OhsumedOptions(_Options):
    complete_only: bool = True
    min_train: Annotated[int, Field(ge=0)] = 15
    categories: Names | None = None


class _Rcv1Options(_Options):
    labels: Annotated[str, _one_of(*RCV1_LABELS)] = "topics"
    seed: Seed = 2004


class _Rcv1SubsetOptions(_Options):
    ratio: Ratio = 1.0
    seed: Seed = 2004


_OPTIONS: dict[str, type[_Options]] = {
    **dict.fromkeys(("csv", "tsv", "jsonl", "folders"), _OwnOptions),
    **dict.fromkeys(("rcv1", "rcv1-like", "rcv1-vectors"), _Rcv1Options),
    "clinc150": _Clinc150Options,
    "eurlex57k": _EurlexOptions,
    "svmlight": _SvmlightOptions,
    "reuters21578": _ReutersOptions,
    "20newsgroups": _NewsgroupsOptions,
    "webkb": _WebKBOptions,
    "ohsumed": _OhsumedOptions,
    "ohsumed-23": _Options,
    "industry-sector": _Options,
    "rcv1-subset": _Rcv1SubsetOptions,
}


@dataclass(frozen=True)
class OptionFault:
    """A value that a reader does not take: its keys below `options`, and what is wrong."""

    keys: Sequence[str | int]
    what: str
    hint: str


def get_option_defaults(name: str) -> dict[str, object]:
    """Return the options of a built-in collection or format with their defaults."""
    return {key: field.default for key, field in _OPTIONS[name].model_fields.items()}


def find_option_fault(name: str, options: dict[str, object]) -> OptionFault | None:
    """Return the first wrong option of a collection or format, or None; those of plugins are not checked."""
    if name not in _OPTIONS:
        return None
    try:
        _OPTIONS[name].model_validate(options)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda each: each["type"] != "extra_forbidden")
        key = str(fault["loc"][0])
        if fault["type"] == "extra_forbidden":
            hint = (
                "Write `split` beside `options`."
                if key == "split"
                else suggest_names(key, get_option_defaults(name))
            )
            return OptionFault([key], f"{name} has no option {key!r}", hint)
        message = fault["msg"].removeprefix("Value error, ")
        now = f"It is {fault['input']!r} now." if isinstance(fault["input"], str | int | float) else ""
        keys: list[str | int] = [key, *(part for part in fault["loc"][1:] if isinstance(part, int))]
        return OptionFault(keys, f"corpus.options.{key}: {message[0].lower()}{message[1:]}", now)
    return None
