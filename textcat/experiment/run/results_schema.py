"""Check the keys and types of results.json and timings.json when they are read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from textcat.experiment.spec.experiment import is_folder_name
from textcat.settings import describe_fault
from textcat.store.files import parse_json

FORMAT = 2
COUNTS = ("tp", "fp", "fn", "tn")
# Timings may hold seconds only, so that they cannot replace a measure of the results.
SECONDS = re.compile(
    r"training\.(?:processor_)?seconds|scaling\.exponent|category\..*\.train_seconds", re.DOTALL
)


def _check_number(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{str(value)[:40]!r} is not a number")
    # Larger integers do not convert to a float.
    if not abs(value) < 1e300:
        raise ValueError("the number is not finite, or too large")
    return value


Number = Annotated[Any, BeforeValidator(_check_number)]
Count = Annotated[int, Field(ge=0, le=2**53)]
Measures = dict[str, Number | None]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow")


class _Corpus(_Part):
    name: str
    split: str | None
    fingerprint: str
    train_documents: Count
    test_documents: Count
    terms: Count
    categories: Count
    train_counts: dict[str, Count]
    categories_in_order: list[str]

    @model_validator(mode="after")
    def _categories_agree(self) -> _Corpus:
        if sorted(self.categories_in_order) != sorted(self.train_counts):
            raise ValueError("categories_in_order and train_counts name different categories")
        return self


class _Evaluation(_Part):
    zero_division: Literal[1, 0, "skip"]


class _Settings(_Part):
    evaluation: _Evaluation


class _Run(_Part):
    title: str
    signature: str
    settings: _Settings
    measures: Measures
    intervals: dict[str, Annotated[list[Number], Field(min_length=2, max_length=2)]] = Field(
        default_factory=dict
    )
    by_category: dict[str, list[Number | None]]
    certificates: dict[str, list[Any]]

    @field_validator("by_category")
    @classmethod
    def _counts_are_whole(cls, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        for kind in COUNTS:
            for value in columns.get(kind, []):
                if value is not None and not (isinstance(value, int) and 0 <= value <= 2**53):
                    raise ValueError(f"{kind} holds {value!r}, which is not a number of documents")
        return columns

    @field_validator("certificates")
    @classmethod
    def _rows_are_whole(cls, columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
        if len({len(values) for values in columns.values()}) > 1:
            raise ValueError("the columns have different lengths")
        return columns


class _OtherMeasures(_Part):
    measures: Measures


def _check_experiment(name: str) -> str:
    if not all(map(is_folder_name, name.split("/"))):
        raise ValueError(f"{name!r} cannot name a folder below results")
    return name


class PackedResults(_Part):
    """The contents of results.json."""

    format: Literal[2]
    version: str
    experiment: Annotated[str, AfterValidator(_check_experiment)]
    title: str
    paper: str | None
    variant_of: str = ""
    reading: str = ""
    tables: list[str]
    figures: list[str]
    corpus: _Corpus
    settings: dict[str, Any]
    runs: dict[str, _Run]
    beside: dict[str, _OtherMeasures]

    @model_validator(mode="after")
    def _columns_fit(self) -> PackedResults:
        expected = len(self.corpus.categories_in_order)
        for name, run in self.runs.items():
            for kind, values in run.by_category.items():
                if len(values) != expected:
                    what = f"{kind} has {len(values)} values for {expected} categories"
                    raise ValueError(f"run {name!r}: {what}")
        return self


class PackedTimings(_Part):
    """The contents of timings.json."""

    stages: dict[str, Number]
    runs: dict[str, Measures]

    @field_validator("runs")
    @classmethod
    def _only_seconds(cls, runs: dict[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        for run, measures in runs.items():
            for name in measures:
                if not SECONDS.fullmatch(name):
                    raise ValueError(f"run {run!r}: {name!r} is not a measure in seconds")
        return runs


def load_checked(path: Path, form: type[PackedResults | PackedTimings]) -> dict[str, Any]:
    """Read a file of this form; raise ValueError or OSError if it is not valid."""
    try:
        text = path.read_text(encoding="utf-8")
        loaded: dict[str, Any] = parse_json(text)
        if "\\u" in text:
            # An escape can stand for half a character, which cannot be printed or written.
            json.dumps(loaded, ensure_ascii=False).encode()
        if form is PackedResults and (not isinstance(loaded, dict) or loaded.get("format") != FORMAT):
            raise ValueError("not results of this version of textcat")
        form.model_validate(loaded)
    except ValidationError as error:
        raise ValueError(describe_fault(error)[:300]) from error
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return loaded
