"""A folder with the small collection, and the command line in it."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from tests.experiment.small import write_small_collection
from textcat.cli.main import group


class Place:
    """A folder with the small collection, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.experiment = write_small_collection(folder)
        self.data, self.results = folder / "data", folder / "results"

    def textcat(self, *arguments: str, expect: int = 0) -> str:
        where = ["--data", str(self.data), "--results", str(self.results)]
        result = CliRunner().invoke(group, [*arguments, *where], standalone_mode=False)
        if result.exception:
            raise result.exception
        assert (result.return_value or 0) == expect, result.output
        return result.output

    def stages(self) -> dict[str, int]:
        """How many artifacts each stage has in the cache."""
        cache = self.data / "cache"
        return {s.name: len(list(s.glob("*/manifest.json"))) for s in sorted(cache.iterdir())}

    @property
    def report(self) -> Path:
        return self.results / "trial"
