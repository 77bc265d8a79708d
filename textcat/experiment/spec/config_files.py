"""Find experiment files and their names."""

from __future__ import annotations

from pathlib import Path

import textcat


def find_config_folders() -> list[Path]:
    """Return the folders of experiments: ./configs, then those of the package."""
    package = Path(textcat.__file__).parent
    candidates = [Path("configs"), package / "configs", package.parent / "configs"]
    return [folder for folder in candidates if folder.is_dir()]


def find_experiment_files() -> dict[str, Path]:
    """Return the file of each experiment by name; files that start with an underscore are only extended."""
    found: dict[str, Path] = {}
    for folder in reversed(find_config_folders()):
        for path in sorted(folder.rglob("*.yaml")):
            if not path.name.startswith("_"):
                found[path.relative_to(folder).with_suffix("").as_posix()] = path
    return dict(sorted(found.items()))
