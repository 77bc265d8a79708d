"""BibTeX for the software, the papers, the collections, and an experiment with all that it uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

import textcat
from textcat.corpora import corpus_names, describe
from textcat.experiment.spec.loading import load_experiment
from textcat.published.tables import PAPERS, load_paper

SOFTWARE = "textcat"
_KEY = re.compile(r"@\w+\{([^,\s]+),")
_SPECIAL = re.compile(r"([&%$#_])")


def cited(name: str = SOFTWARE) -> str:
    """BibTeX of the software, a paper, a collection, or an experiment with all that it uses."""
    return each_once(_entries(name))


def cited_by(paper: str, corpus: str, runs: Iterable[Mapping[str, Any]]) -> str:
    """BibTeX of all that an experiment uses; `runs` are its runs' resolved settings."""
    return each_once(used_by(paper, corpus, runs))


def each_once(entries: Iterable[str]) -> str:
    """Entries as one text; of two with the same key the first."""
    by_key: dict[str, str] = {}
    for entry in entries:
        by_key.setdefault(keys_of([entry])[0], entry)
    return "\n\n".join(by_key.values()) + "\n"


def _entries(name: str) -> Iterator[str]:
    if name == SOFTWARE:
        yield software()
    elif name in PAPERS:
        yield load_paper(name).bibtex.strip()
    elif name in corpus_names():
        yield describe(name).bibtex.strip()
    else:
        experiment = load_experiment(name)
        runs = [run.model_dump(mode="json") for run in experiment.runs.values()]
        yield from used_by(experiment.paper, experiment.corpus.name, runs)


def used_by(paper: str, corpus: str, runs: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The software, the paper, the collection, then the methods of the runs in their order."""
    yield software()
    if paper in PAPERS:
        yield load_paper(paper).bibtex.strip()
    if corpus in corpus_names():
        yield describe(corpus).bibtex.strip()
    for run in runs:
        yield from map(entry_of, _methods(run))


def _methods(run: Mapping[str, Any]) -> Iterator[str]:
    """The keys of the works that describe what a run does."""
    table = _table()
    yield from table["learners"].get(run["learner"], ())
    if run["text"]["stem"] != "none":
        yield from table["stem"]
    yield from table["stop_list"].get(run["text"]["stop_list"], ())
    if run["selection"]["features"] != "all":
        yield from table["selection"]
    if run["projection"]:
        yield from table["projection"]
    yield from table["rules"].get(run["threshold"]["rule"], ())


def entry_of(key: str) -> str:
    """The entry of one work: a paper that is run again, or one of references.bib."""
    return load_paper(key).bibtex.strip() if key in PAPERS else references()[key]


@cache
def references() -> dict[str, str]:
    """Key -> entry of references.bib."""
    text = files("textcat.report").joinpath("references.bib").read_text(encoding="utf-8")
    entries = [entry.strip() for entry in re.split(r"\n(?=@)", text)]
    return dict(zip(keys_of(entries), entries, strict=True))


def keys_of(entries: Iterable[str]) -> list[str]:
    """The keys of BibTeX entries."""
    return [found for entry in entries for found in _KEY.findall(entry)]


def software() -> str:
    """What CITATION.cff says, as BibTeX."""
    facts = citation_file()
    fields = {
        "author": " and ".join(map(_author, facts["authors"])),
        "title": "{" + _escaped(facts["title"]) + "}",
        "version": str(facts["version"]),
        "year": str(facts.get("date-released", ""))[:4],
        "url": facts.get("repository-code", facts.get("url", "")),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@software{{{SOFTWARE},\n" + ",\n".join(lines) + "\n}"


def citation_file() -> dict[str, Any]:
    """CITATION.cff, beside the code in a checkout and within the package when installed."""
    package = Path(textcat.__file__).parent
    places: Sequence[Path] = (package / "CITATION.cff", package.parent / "CITATION.cff")
    found = next(place for place in places if place.is_file())
    facts: dict[str, Any] = yaml.safe_load(found.read_text(encoding="utf-8"))
    return facts


def _author(author: dict[str, str]) -> str:
    """A person, or a body whose name is not to be taken apart."""
    if "name" in author:
        return "{" + _escaped(author["name"]) + "}"
    return _escaped(f"{author['family-names']}, {author['given-names']}")


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", text)


@cache
def _table() -> dict[str, Any]:
    text = files("textcat.report").joinpath("references.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    return table
