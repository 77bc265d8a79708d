"""BibTeX entries for textcat, the papers, the collections, and everything an experiment uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import textcat
from textcat.corpora import list_corpora, load_card
from textcat.errors import DataNotAvailableError
from textcat.experiment.spec.loading import load_experiment
from textcat.published.printed_tables import PAPERS, load_paper
from textcat.yaml_reader import read_packaged_yaml, read_yaml

SOFTWARE = "textcat"
_KEY = re.compile(r"@\w+\{([^,\s]+),")
_SPECIAL = re.compile(r"([&%$#_])")


def cite(name: str = SOFTWARE) -> str:
    """Return BibTeX for textcat, a paper, a collection, or everything an experiment uses."""
    return join_unique_entries(_list_entries(name))


def join_unique_entries(entries: Iterable[str]) -> str:
    """Join entries to one text, keeping the first of those with the same key."""
    by_key: dict[str, str] = {}
    for entry in entries:
        by_key.setdefault(find_keys([entry])[0], entry)
    return "\n\n".join(by_key.values()) + "\n"


def _list_entries(name: str) -> Iterator[str]:
    if name == SOFTWARE:
        yield make_software_entry()
    elif name in PAPERS:
        yield load_paper(name).bibtex.strip()
    elif name in list_corpora():
        yield load_card(name).bibtex.strip()
    else:
        experiment = load_experiment(name)
        runs = [run.model_dump(mode="json") for run in experiment.runs.values()]
        yield from list_used_entries(experiment.paper, experiment.corpus.name, runs)


def list_used_entries(paper: str, corpus: str, runs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the entries of textcat, the paper, the collection, and the methods of the resolved settings of runs."""
    yield make_software_entry()
    if paper in PAPERS:
        yield load_paper(paper).bibtex.strip()
    if corpus in list_corpora():
        yield load_card(corpus).bibtex.strip()
    table = read_packaged_yaml("report/references.yaml")
    for run in runs:
        yield from map(find_entry, _list_method_keys(run, table))


def _list_method_keys(run: Mapping[str, Any], table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of the publications that describe the methods of a run."""
    yield from table["learners"].get(run["learner"], ())
    if run["text"]["stem"] != "none":
        yield from table["stem"]
    yield from table["stop_list"].get(str(run["text"]["stop_list"]), ())
    if run["selection"]["features"] != "all":
        yield from table["selection"]
    if run["projection"]:
        yield from table["projection"]
    yield from table["rules"].get(run["threshold"]["rule"], ())


def find_entry(key: str) -> str:
    """Return the entry of a reproduced paper, or of references.bib."""
    return load_paper(key).bibtex.strip() if key in PAPERS else load_references()[key]


@cache
def load_references() -> dict[str, str]:
    """Load references.bib as a mapping from key to entry."""
    text = files("textcat.report").joinpath("references.bib").read_text(encoding="utf-8")
    entries = [entry.strip() for entry in re.split(r"\n(?=@)", text)]
    return dict(zip(find_keys(entries), entries, strict=True))


def find_keys(entries: Iterable[str]) -> list[str]:
    """Return the keys of BibTeX entries."""
    return [found for entry in entries for found in _KEY.findall(entry)]


def make_software_entry() -> str:
    """Return the contents of CITATION.cff as BibTeX."""
    facts = load_citation_file()
    fields = {
        "author": " and ".join(map(_format_author, facts["authors"])),
        "title": "{" + _escape_bibtex(facts["title"]) + "}",
        "version": str(facts["version"]),
        "year": str(facts.get("date-released", ""))[:4],
        "url": facts.get("repository-code", facts.get("url", "")),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@software{{{SOFTWARE},\n" + ",\n".join(lines) + "\n}"


def load_citation_file() -> dict[str, Any]:
    """Load CITATION.cff from the package, or from the folder above it in a checkout."""
    package = Path(textcat.__file__).parent
    paths: Sequence[Path] = (package / "CITATION.cff", package.parent / "CITATION.cff")
    found = next((path for path in paths if path.is_file()), None)
    if found is None:
        raise DataNotAvailableError(
            "the file with the citation of textcat is missing",
            where=str(paths[0]),
            hint="Install textcat again, or copy CITATION.cff from its repository.",
        )
    facts: dict[str, Any] = read_yaml(found).data
    return facts


def _format_author(author: dict[str, str]) -> str:
    """Format a person, or an organization in braces."""
    if "name" in author:
        return "{" + _escape_bibtex(author["name"]) + "}"
    return _escape_bibtex(f"{author['family-names']}, {author['given-names']}")


def _escape_bibtex(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)
