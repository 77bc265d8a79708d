"""Import the modules that experiments name under `imports:`, which register methods beside textcat's own.

A module stays as it was imported until the process ends, as always in Python, and so does the hash of its source, which
is part of the keys of all steps of its experiments.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from hashlib import sha256
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, TypeVar

from textcat.errors import BadDataError, StageFailedError, TextcatError, UsageError

Method = TypeVar("Method")


@dataclass(frozen=True)
class ImportedModule:
    """A module, the folder in which it was looked for first, and the sha256 of its source.

    Reading it from a pickle, in a worker, imports it.
    """

    name: str
    folder: str
    source: str

    def __reduce__(self) -> tuple[Callable[..., ImportedModule], tuple[str, str, str]]:
        """Return what a worker calls to get the same module."""
        return _import_in_worker, (self.name, self.folder, self.source)


_imported: dict[str, ImportedModule] = {}
# The module that registered a method, by kind and name.
_owners: dict[tuple[str, str], str] = {}
_importing: list[str] = []


def import_module(name: str, folder: Path) -> ImportedModule:
    """Import a module from `folder` or sys.path; `name` may also be a path to its .py file, relative to `folder`."""
    if name.endswith(".py"):
        path = folder / name
        name, folder = path.stem, path.parent
    file = _find_file(name, folder)
    known = _imported.get(name)
    if known is None:
        _importing.append(name)
        sys.path.insert(0, str(folder))
        try:
            importlib.import_module(name)
        except TextcatError:
            raise
        except Exception as error:
            raise UsageError(
                f"the module {name!r} cannot be imported: {type(error).__name__}: {error}",
                hint="It must be beside the experiment file or on Python's path; -vv shows the traceback.",
            ) from error
        finally:
            sys.path.remove(str(folder))
            _importing.pop()
        known = _imported[name] = ImportedModule(name, str(folder.resolve()), _hash_source(name))
    loaded = Path(str(sys.modules[name].__file__)).resolve()
    if file is not None and file != loaded:
        raise UsageError(
            f"the module {name!r} is {file} here, but this process has already imported {loaded}",
            hint="Give one of them another name.",
        )
    return known


def _find_file(name: str, folder: Path) -> Path | None:
    """Return the file of a module in a folder, or None if there is none."""
    package, _, rest = name.partition(".")
    spec = PathFinder.find_spec(package, [str(folder)])
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin).resolve()
    return _find_file(rest, origin.parent) if rest else origin


def _hash_source(name: str) -> str:
    """Return the start of the sha256 of a module's file, or of all Python files of a package."""
    origin = getattr(sys.modules[name], "__file__", None)
    if origin is None or not origin.endswith(".py"):
        raise UsageError(f"the module {name!r} has no source file", hint="Name a module written in Python.")
    path = Path(origin)
    paths = sorted(path.parent.rglob("*.py")) if path.name == "__init__.py" else [path]
    found = sha256()
    for each in paths:
        content = each.read_bytes()
        found.update(f"{each.relative_to(path.parent).as_posix()} {len(content)}\n".encode() + content)
    return found.hexdigest()[:12]


def _import_in_worker(name: str, folder: str, source: str) -> ImportedModule:
    module = import_module(name, Path(folder))
    if module.source != source:
        raise StageFailedError(
            f"a worker has another version of the module {name!r}",
            where=str(sys.modules[name].__file__),
            hint="Copy the same file to every worker, and start the workers again.",
        )
    return module


def list_imported() -> tuple[ImportedModule, ...]:
    """Return the modules imported so far."""
    return tuple(_imported.values())


def find_sources(names: Iterable[str]) -> dict[str, str]:
    """Return the hashes of the sources of imported modules; a name may be a path to a .py file."""
    modules = [Path(name).stem if name.endswith(".py") else name for name in names]
    return {name: _imported[name].source for name in modules}


def describe_import(name: str, folder: Path) -> str:
    """Return how an experiment file in `folder` names an imported module: by the path of a file beside another one."""
    module = _imported[Path(name).stem if name.endswith(".py") else name]
    path = Path(module.folder) / f"{module.name}.py"
    return os.path.relpath(path, folder.resolve()) if path.is_file() else module.name


def find_owners(methods: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the modules, with the hashes of their sources, that registered some methods, given by kind and name."""
    return find_sources({_owners[method] for method in methods if _owners.get(method)})


def check_modules(sources: Mapping[str, str]) -> None:
    """Refuse a model of modules that are not imported, or that have changed since it was trained."""
    for name, source in sources.items():
        if name not in _imported and name in sys.modules:
            _imported[name] = ImportedModule(name, "", _hash_source(name))
        if name not in _imported:
            raise BadDataError(
                f"the model needs the module {name!r}, which is not imported",
                hint=f"Give `--import {name}` on the command line; in Python import it first.",
            )
        if _imported[name].source != source:
            raise BadDataError(
                f"the module {name!r} has changed since the model was trained",
                hint="Restore the module, or train the model again.",
            )


def claim_name(kind: str, name: str, known: Collection[str]) -> None:
    """Refuse to register a method under a name that textcat itself or another module has."""
    before, module = _owners.get((kind, name)), _importing[-1] if _importing else ""
    if before is None and name in known:
        raise UsageError(f"textcat has a {kind} {name!r} already", where=module, hint="Choose another name.")
    if before and module and before != module:
        raise UsageError(
            f"the {kind} {name!r} is registered by {before} and by {module}", hint="Rename one of them."
        )
    _owners[kind, name] = module


def guard_function(
    kind: str, name: str, function: Callable[..., Method], check: Callable[..., str] | None = None
) -> Callable[..., Method]:
    """Return a registered function with errors that name it.

    `check(result, *arguments)` returns what is wrong with a result, or an empty text.
    """

    @wraps(function, updated=())
    def call(*arguments: Any) -> Method:
        try:
            result = function(*arguments)
            if fault := check(result, *arguments) if check else "":
                raise ValueError(fault)
        except TextcatError:
            raise
        except Exception as error:
            raise StageFailedError(
                f"the {kind} {name!r} failed: {type(error).__name__}: {error}",
                where=_owners.get((kind, name), ""),
                hint="Mend the module that registers it; -vv shows the traceback.",
            ) from error
        return result

    return call


def check_numbers(shape: tuple[int, ...], values: Any) -> str:
    """Return what is wrong with an array that should have this shape and no NaN, or an empty text."""
    import numpy as np  # noqa: PLC0415 - takes long to import

    found = np.asarray(values)
    if found.dtype.kind not in "biuf" or found.shape != shape:
        return f"it returned {found.dtype} of shape {found.shape}, not numbers of shape {shape}"
    return "it returned NaN" if np.isnan(found.astype(float)).any() else ""
