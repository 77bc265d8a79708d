"""Keys of artifacts: the sha256 of a stage's name, version, resolved parameters and input keys."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


def canonical_json(value: Any) -> str:
    """JSON with one spelling for one value: sorted keys, no spaces, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """The sha256 of a JSON-able value's canonical spelling."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what a stage makes."""

    stage: str
    version: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as JSON-able data, as it stands in an artifact's manifest."""
        return {
            "stage": self.stage,
            "version": self.version,
            "parameters": dict(self.parameters),
            "inputs": dict(self.inputs),
        }

    @property
    def key(self) -> str:
        """The name of the artifact that this recipe makes."""
        return digest(self.as_dict())


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every (dotted path, scalar) in nested data, in sorted order."""
    if isinstance(value, Mapping):
        for name in sorted(value):
            yield from leaves(value[name], f"{path}.{name}" if path else str(name))
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield from leaves(item, f"{path}[{position}]")
    else:
        yield path, value


def differences(left: Mapping[str, Any], right: Mapping[str, Any]) -> list[str]:
    """The dotted paths at which two nested mappings differ, in sorted order."""
    one, other = dict(leaves(left)), dict(leaves(right))
    missing = object()
    return [
        path
        for path in sorted(one.keys() | other.keys())
        if one.get(path, missing) != other.get(path, missing)
    ]
