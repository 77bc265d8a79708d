"""Read the project's own YAML data: a key given twice is an error, not the silent loss of the first."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from textcat.errors import UsageError


class _Loader(yaml.SafeLoader):
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


def parse(text: str, name: str) -> Any:
    """The contents of a YAML text; `name` stands in messages."""
    loader = _Loader(text)
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
def packaged_text(name: str) -> str:
    """A data file beside this module."""
    return files("textcat.published").joinpath(name).read_text(encoding="utf-8")


def packaged(name: str) -> Any:
    """The parsed contents of a data file beside this module."""
    return parse(packaged_text(name), name)
