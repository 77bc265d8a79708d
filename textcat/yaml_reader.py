"""Read YAML strictly: no duplicate keys, and the place of every value for error messages."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from textcat.errors import UsageError


class _StrictLoader(yaml.SafeLoader):
    """Safe loading that refuses repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                mark = key_node.start_mark
                raise UsageError(
                    f"the key '{key}' is given twice",
                    where=f"{mark.name}:{mark.line + 1}:{mark.column + 1}",
                    hint="Take one of the two out.",
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def parse_yaml(text: str, name: str) -> Any:
    """The contents of a YAML text; `name` stands in messages."""
    loader = _StrictLoader(text)
    loader.name = name
    try:
        return loader.get_single_data()
    except yaml.YAMLError as problem:
        raise UsageError(
            f"not readable as YAML: {problem}", where=name, hint="Mend the file as YAML."
        ) from problem
    finally:
        loader.dispose()


@cache
def read_packaged_text(name: str) -> str:
    """A data file beside this module."""
    return files("textcat.published").joinpath(name).read_text(encoding="utf-8")


def read_packaged_yaml(name: str) -> Any:
    """The parsed contents of a data file beside this module."""
    return parse_yaml(read_packaged_text(name), name)


KeyPath = tuple[str | int, ...]

MAX_SNIPPET_WIDTH = 100
MAX_INTEGER_BITS = 63
MAX_CHARACTERS = 1_000_000
LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


@dataclass(frozen=True)
class YamlPlace:
    """Where a key or value stands: file, line and column counted from one, and the line's text."""

    file: Path
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def snippet(self) -> str:
        """The line, or what surrounds the column in a long one, with a mark under the column."""
        start = max(self.column - 1 - MAX_SNIPPET_WIDTH // 2, 0)
        return f"    {self.text[start : start + MAX_SNIPPET_WIDTH]}\n    {' ' * (self.column - 1 - start)}^"


@dataclass
class YamlSource:
    """Plain data with the place of each of its keys."""

    data: dict[str, Any]
    places: dict[KeyPath, YamlPlace] = field(default_factory=dict)

    def find_place(self, keys: KeyPath) -> YamlPlace | None:
        """The place of a path of keys, or of the nearest one above it."""
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.places:
                return self.places[keys[:length]]
        return None


def suggest_names(word: str, known: Iterable[str]) -> str:
    """A hint with the nearest known words, or all of them when none is near."""
    choices = sorted(known)
    near = get_close_matches(word, choices, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(near)}?"
    return f"Known here: {', '.join(choices)}." if choices else "None is known here."


def make_yaml_error(place: YamlPlace | None, what: str, hint: str = "") -> UsageError:
    """A message with the place in front and the offending line under it."""
    if place is None:
        return UsageError(what, hint=hint)
    return UsageError(f"{what}\n{place.snippet()}", where=str(place), hint=hint)


def read_yaml_source(path: Path) -> YamlSource:
    """The mapping in a YAML file; anything that is not plain YAML with unique text keys is refused."""
    try:
        with path.open(encoding="utf-8") as opened:
            text = opened.read(MAX_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot read the experiment file: {reason}",
            where=str(path),
            hint="Make it a readable file in utf-8.",
        ) from error
    return parse_yaml_source(text, path)


def parse_yaml_source(text: str, path: Path) -> YamlSource:
    """The same, of a text already read; `path` is what messages name."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"longer than {MAX_CHARACTERS:,} characters",
            where=str(path),
            hint="Name an experiment file; documents belong in a file of their own.",
        )
    reader = _NodeReader(path, LINE_END.split(text))
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = reader.place(mark) if mark else None
        raise make_yaml_error(
            place,
            f"not valid YAML: {error.problem or error.context}",
            hint="Mend the line; quotes around a value often do.",
        ) from error
    except yaml.reader.ReaderError as error:
        raise make_yaml_error(
            reader.locate_position(error.position, text),
            f"not valid YAML: {error.reason}",
            hint="Take the character out, or write the file in utf-8.",
        ) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(
            f"not valid YAML: {error}", where=str(path), hint="Write the file as plain YAML."
        ) from error
    if node is None:
        return YamlSource({}, {(): YamlPlace(path, 1, 1, "")})
    if not isinstance(node, yaml.MappingNode):
        raise make_yaml_error(
            reader.place(node.start_mark),
            "an experiment is a mapping of keys to values",
            hint="Begin with lines such as `title: My documents`.",
        )
    source = YamlSource({}, {(): reader.place(node.start_mark)})
    source.data = reader.mapping(node, (), source.places)
    return source


class _NodeReader:
    """Turns composed nodes into plain data, noting places and refusing what would be lost silently."""

    MOST_DEPTH = 40
    MOST_VALUES = 100_000

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self.values = 0
        self.constructor = yaml.constructor.SafeConstructor()

    def place(self, mark: yaml.Mark) -> YamlPlace:
        text = self.lines[mark.line] if mark.line < len(self.lines) else ""
        return YamlPlace(self.path, mark.line + 1, mark.column + 1, text)

    def locate_position(self, position: int, text: str) -> YamlPlace:
        """The place of a character by its position in the whole text."""
        above = LINE_END.split(text[:position])
        return YamlPlace(self.path, len(above), len(above[-1]) + 1, self.lines[len(above) - 1])

    def value(self, node: yaml.Node, keys: KeyPath, places: dict[KeyPath, YamlPlace]) -> Any:
        # An alias is read again wherever it stands, so a short file can be a long one.
        self.values += 1
        if len(keys) > self.MOST_DEPTH or self.values > self.MOST_VALUES:
            raise make_yaml_error(
                self.place(node.start_mark),
                "nested too deeply, or too many values",
                hint="Write the experiment plainly, without aliases that repeat each other.",
            )
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if node.tag not in (
            yaml.resolver.Resolver.DEFAULT_MAPPING_TAG,
            yaml.resolver.Resolver.DEFAULT_SEQUENCE_TAG,
        ):
            raise make_yaml_error(
                self.place(node.start_mark),
                f"not a plain value: {node.tag}",
                hint="Take the tag out: text, numbers, lists and mappings are read.",
            )
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, keys, places)
        return [self._item(child, (*keys, index), places) for index, child in enumerate(node.value)]

    def _item(self, node: yaml.Node, keys: KeyPath, places: dict[KeyPath, YamlPlace]) -> Any:
        places[keys] = self.place(node.start_mark)
        return self.value(node, keys, places)

    def _scalar(self, node: yaml.Node) -> Any:
        place = self.place(node.start_mark)
        try:
            value = self.constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            problem = getattr(error, "problem", None) or error
            raise make_yaml_error(place, f"not a plain value: {problem}", hint="Put it in quotes.") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise make_yaml_error(place, "not a finite number", hint="Write a number, or null.")
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise make_yaml_error(place, "a number that is too large", hint="Write a smaller one.")
        if isinstance(value, datetime.date):
            raise make_yaml_error(place, "a date is no value here", "Put it in quotes.")
        if isinstance(value, str) and not value.isprintable():
            self._check_written(value, place)
        if value is not None and not isinstance(value, str | int | float):
            raise make_yaml_error(place, "not a plain value", hint="Put it in quotes.")
        return value

    def _check_written(self, value: str, place: YamlPlace) -> None:
        """Refuse halves of surrogate pairs, which YAML can spell and no file can hold."""
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise make_yaml_error(
                place, "half of a surrogate pair", hint="Write the whole character."
            ) from error

    def mapping(
        self, node: yaml.MappingNode, keys: KeyPath, places: dict[KeyPath, YamlPlace]
    ) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = self.place(key_node.start_mark)
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise make_yaml_error(
                    place,
                    "merge keys are not read; use `extends`",
                    hint="Put what is shared in a file of its own and name it in `extends`.",
                )
            name = self._scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(name, str | int) or isinstance(name, bool):
                raise make_yaml_error(
                    place, "a key must be a plain word", hint="Write a word, in quotes if need be."
                )
            name = str(name)
            if name in result:
                first = places[(*keys, name)]
                raise make_yaml_error(place, f"the key {name!r} stands here twice", f"First seen at {first}.")
            places[(*keys, name)] = place
            result[name] = self.value(value_node, (*keys, name), places)
        return result
