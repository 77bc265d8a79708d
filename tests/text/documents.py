"""Small documents to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class SmallDocument:
    id: str
    fields: Mapping[str, str]
    labels: tuple[str, ...] = ()
    split: str = "train"


def documents(*bodies: str, split: str = "train") -> list[SmallDocument]:
    return [SmallDocument(str(number), {"body": body}, (), split) for number, body in enumerate(bodies)]
