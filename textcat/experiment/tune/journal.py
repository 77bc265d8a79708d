"""The journal of a search: every measured path, so that a search that was stopped continues where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textcat.errors import BadDataError
from textcat.experiment.tune.evaluation import PathResult
from textcat.store.files import write_atomically

FORMAT = 1


def make_journal_key(facts: Mapping[str, Any]) -> str:
    """Return a key of everything that decides the measured values."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass
class Journal:
    """Measured paths by configuration, fold and values of C, written to a file after each."""

    path: Path
    key: str
    entries: dict[str, PathResult] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, key: str) -> Journal:
        """Return the journal in a file, or an empty one if there is none or it is of other data or settings."""
        if not path.exists():
            return cls(path, key)
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            if data["format"] != FORMAT or data["key"] != key:
                return cls(path, key)
            entries = {name: PathResult.from_dict(entry) for name, entry in data["entries"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            hint = "Delete it; the search then starts again."
            raise BadDataError(f"not readable as a journal: {error}", where=str(path), hint=hint) from error
        return cls(path, key, entries)

    def find(self, entry: str) -> PathResult | None:
        """Return a measured path."""
        return self.entries.get(entry)

    def add(self, entry: str, result: PathResult) -> None:
        """Keep a measured path and write the file."""
        self.entries[entry] = result
        written = {name: each.as_dict() for name, each in self.entries.items()}
        text = json.dumps({"format": FORMAT, "key": self.key, "entries": written}, indent=1)
        write_atomically(self.path, text + "\n")
