"""Installed packages without a network: a module and the metadata that an installer would write beside it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGES = Path(__file__).parent / "packages"
ROOT = Path(__file__).resolve().parents[2]


def put(target: Path, package: Path, version: str | None = None) -> None:
    """Lay a package out as an installer would: its module, and NAME-VERSION.dist-info."""
    facts = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))
    project = facts["project"]
    shutil.copy(package / f"{project['name'].replace('-', '_')}.py", target)
    write_metadata(target, project["name"], version or project["version"], project["entry-points"])


def write_metadata(target: Path, name: str, version: str, groups: Mapping[str, Any]) -> None:
    """METADATA and entry_points.txt, in place of those of another version."""
    folder = target / f"{name.replace('-', '_')}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    lines = [
        f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in each.items()) for group, each in groups.items()
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def module(target: Path, name: str, kind: str, entry: str, code: str, version: str = "1.0") -> None:
    """A package of one function called `thing`, offered under `entry`."""
    (target / f"{name.replace('-', '_')}.py").write_text(code, encoding="utf-8")
    write_metadata(target, name, version, {f"textcat.{kind}": {entry: f"{name.replace('-', '_')}:thing"}})


def textcat(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which sees the packages of `site`."""
    code = "from textcat.cli.main import main; main()"
    paths = os.pathsep.join([str(site), str(ROOT)])
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "300"},
        text=True, capture_output=True, check=False, timeout=300,
    )  # fmt: skip
