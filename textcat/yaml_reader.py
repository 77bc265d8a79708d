"""Read YAML strictly: plain values and unique keys only, with the place of every value for error messages.

The one reader of experiment files, of corpus cards and of all other packaged data.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from textcat.errors import UsageError

KeyPath = tuple[str | int, ...]

MAX_SNIPPET_WIDTH = 100
MAX_INTEGER_BITS = 63
MAX_CHARACTERS = 1_000_000
LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")


@dataclass(frozen=True)
class YamlPlace:
    """The place of a key or value: file, line and column counted from one, and the text of the line."""

    file: Path
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def snippet(self) -> str:
        """Return the line with a mark under the column; of a long line the part around the column."""
        start = max(self.column - 1 - MAX_SNIPPET_WIDTH // 2, 0)
        return f"    {self.text[start : start + MAX_SNIPPET_WIDTH]}\n    {' ' * (self.column - 1 - start)}^"


@dataclass
class YamlSource:
    """Plain data with the place of each of its keys and list items."""

    data: Any
    places: dict[KeyPath, YamlPlace] = field(default_factory=dict)

    def find_place(self, keys: KeyPath) -> YamlPlace | None:
        """Return the place of a path of keys, or of its nearest ancestor that has one."""
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.places:
                return self.places[keys[:length]]
        return None


def list_paths(value: Any, keys: KeyPath) -> Iterator[KeyPath]:
    """Yield the path of a value and of everything in it."""
    yield keys
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from list_paths(part, (*keys, key))


def suggest_names(word: str, known: Iterable[str]) -> str:
    """Return a hint with the nearest known names, or with all of them when none is near."""
    choices = sorted(known)
    if near := find_near_names(word, choices, most=3):
        return f"Did you mean {' or '.join(near)}?"
    return f"Known names: {', '.join(choices)}." if choices else "No name is known here."


def find_near_names(word: str, known: Iterable[str], most: int) -> list[str]:
    """Return the known names with similar spelling; if one has the same parts in another order, only that one."""
    choices = sorted(known)
    joined = _letters(word)
    reordered = [
        name
        for name in choices
        if len(_letters(name)) == len(joined) and all(part in joined for part in _parts(name))
    ]
    near = get_close_matches(word, choices, n=most, cutoff=0.6)
    return list(dict.fromkeys([*reordered, *near]))[: 1 if reordered else most]


def _parts(name: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", name.lower())


def _letters(name: str) -> str:
    return "".join(_parts(name))


def make_yaml_error(place: YamlPlace | None, what: str, hint: str = "") -> UsageError:
    """Return an error with the place in front and the line below the message."""
    if place is None:
        return UsageError(what, hint=hint)
    return UsageError(f"{what}\n{place.snippet()}", where=str(place), hint=hint)


# The parser in C is several times as fast; its messages are less clear, which packaged files do not need.
_FAST_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_packaged_yaml(name: str) -> Any:
    """Return the data of a YAML file of this package, named by its path below `textcat/`."""
    text = files("textcat").joinpath(name).read_text(encoding="utf-8")
    return parse_yaml(text, f"textcat/{name}", loader=_FAST_LOADER).data


def list_first(names: Sequence[str], most: int = 5) -> str:
    """Return the first names, with an ellipsis if there are more."""
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def read_yaml(path: Path) -> YamlSource:
    """Read a YAML file; raise `UsageError` for anything but plain data with unique keys."""
    try:
        with path.open(encoding="utf-8") as opened:
            text = opened.read(MAX_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"cannot read the file: {reason}", where=str(path), hint="Make it a readable file in UTF-8."
        ) from error
    return parse_yaml(text, path)


def parse_yaml(text: str, path: Path | str, *, loader: Any = yaml.SafeLoader) -> YamlSource:
    """Parse YAML text; `path` is the file that error messages name. The data of an empty text is None."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"longer than {MAX_CHARACTERS:,} characters",
            where=str(path),
            hint="Name a YAML file; documents belong in a separate file.",
        )
    path = Path(path)
    reader = _NodeReader(path, LINE_END.split(text))
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise make_yaml_error(
            reader.locate_mark(mark) if mark else None,
            f"not valid YAML: {error.problem or error.context}",
            hint="Fix the line; quotes around a value often help.",
        ) from error
    except yaml.reader.ReaderError as error:
        above = LINE_END.split(text[: error.position])
        raise make_yaml_error(
            YamlPlace(path, len(above), len(above[-1]) + 1, reader.lines[len(above) - 1]),
            f"not valid YAML: {error.reason}",
            hint="Delete the character, or save the file as UTF-8.",
        ) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise UsageError(
            f"not valid YAML: {error}", where=str(path), hint="Write the file as plain YAML."
        ) from error
    if node is None:
        return YamlSource(None, {(): YamlPlace(path, 1, 1, "")})
    source = YamlSource(None, {(): reader.locate_mark(node.start_mark)})
    source.data = reader.read_value(node, (), source.places)
    return source


class _NodeReader:
    """Converts composed nodes to plain data, records places, and refuses what safe loading would change silently."""

    MAX_DEPTH = 40
    MAX_VALUES = 100_000

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path = path
        self.lines = lines
        self.values = 0
        self.constructor = yaml.constructor.SafeConstructor()

    def locate_mark(self, mark: yaml.Mark) -> YamlPlace:
        """Return the place of a mark of the YAML parser."""
        text = self.lines[mark.line] if mark.line < len(self.lines) else ""
        return YamlPlace(self.path, mark.line + 1, mark.column + 1, text)

    def read_value(self, node: yaml.Node, keys: KeyPath, places: dict[KeyPath, YamlPlace]) -> Any:
        """Return a node as plain data and add the places of its keys and items to `places`."""
        # An alias is read again at each use, so a short file can hold many values.
        self.values += 1
        if len(keys) > self.MAX_DEPTH or self.values > self.MAX_VALUES:
            raise make_yaml_error(
                self.locate_mark(node.start_mark),
                "nested too deeply, or too many values",
                hint="Write the values out, without aliases that repeat each other.",
            )
        if isinstance(node, yaml.ScalarNode):
            return self._read_scalar(node)
        if node.tag not in (
            yaml.resolver.Resolver.DEFAULT_MAPPING_TAG,
            yaml.resolver.Resolver.DEFAULT_SEQUENCE_TAG,
        ):
            raise make_yaml_error(
                self.locate_mark(node.start_mark),
                f"not a plain value: {node.tag}",
                hint="Delete the tag: only text, numbers, lists and mappings are allowed.",
            )
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, keys, places)
        items = []
        for index, child in enumerate(node.value):
            places[(*keys, index)] = self.locate_mark(child.start_mark)
            items.append(self.read_value(child, (*keys, index), places))
        return items

    def _read_scalar(self, node: yaml.Node) -> Any:
        place = self.locate_mark(node.start_mark)
        try:
            value = self.constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            problem = getattr(error, "problem", None) or error
            raise make_yaml_error(place, f"not a plain value: {problem}", hint="Put it in quotes.") from error
        if isinstance(value, float) and not math.isfinite(value):
            raise make_yaml_error(place, "not a finite number", hint="Write a number, or null.")
        if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
            raise make_yaml_error(place, "the number is too large", hint="Write a smaller one.")
        if isinstance(value, datetime.date):
            raise make_yaml_error(place, "a date is not allowed", hint="Put it in quotes.")
        if isinstance(value, str) and not value.isprintable():
            _check_encodable(value, place)
        if value is not None and not isinstance(value, str | int | float):
            raise make_yaml_error(place, "not a plain value", hint="Put it in quotes.")
        return value

    def _read_mapping(
        self, node: yaml.MappingNode, keys: KeyPath, places: dict[KeyPath, YamlPlace]
    ) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            place = self.locate_mark(key_node.start_mark)
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise make_yaml_error(
                    place,
                    "merge keys (<<) are not allowed",
                    hint="Write the keys out; experiment files share settings with `extends`.",
                )
            name = self._read_scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(name, str | int) or isinstance(name, bool):
                raise make_yaml_error(
                    place, "a key must be a plain word", hint="Write a word, in quotes if necessary."
                )
            name = str(name)
            if name in result:
                hint = f"The first one is at {places[(*keys, name)]}. Delete one of the two."
                raise make_yaml_error(place, f"the key {name!r} is given twice", hint)
            places[(*keys, name)] = place
            result[name] = self.read_value(value_node, (*keys, name), places)
        return result


def _check_encodable(value: str, place: YamlPlace) -> None:
    """Refuse halves of surrogate pairs, which YAML escapes can spell and UTF-8 cannot hold."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise make_yaml_error(place, "half of a surrogate pair", hint="Write the whole character.") from error
