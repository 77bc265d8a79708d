"""The name of the package is taken by another project on the public index: nothing may tell users to install that."""

from __future__ import annotations

import re
import tomllib

from tests.conftest import PROJECT

STRANGER = re.compile(
    r"""textcat\[[a-z]                             # an extra of the stranger's package
      | pip\ install\ (?:-\S+\ )*['"]?textcat\b(?!-)
      | dependencies\ =\ \[\s*"textcat\b(?!-)""",
    re.VERBOSE,
)
READ = {".py", ".md", ".yaml", ".html", ".in", ".cff"}


def test_hints_install_from_the_clone() -> None:
    assert STRANGER.search("Run `pip install 'textcat[dask]'`.")
    assert STRANGER.search('dependencies = ["textcat"]')
    folders = [PROJECT / name for name in ("textcat", "benchmarks", "docs", "configs")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in READ]
    files += PROJECT.glob("*.*")
    found = [
        f"{path.relative_to(PROJECT)}: {match.group()}"
        for path in files
        if path.is_file() and (match := STRANGER.search(path.read_text(encoding="utf-8")))
    ]
    assert not found


def test_the_extras_of_the_hints_exist() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == "textcat-toolkit"
    hints = re.compile(r"pip install (?:-e )?'\.\[([a-z,]+)\]'")
    texts = [path.read_text(encoding="utf-8") for path in (PROJECT / "textcat").rglob("*.py")]
    named = {extra for text in texts for match in hints.finditer(text) for extra in match[1].split(",")}
    assert {"dask", "sklearn"} <= named <= project["optional-dependencies"].keys()
