"""Models, caches and settings are data: nothing in the source could run what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import textcat
from tests.loops import for_each

ROOT = Path(textcat.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "jsonpickle"}
BUILTINS = {"eval", "exec", "compile", "__import__"}
METHODS = {
    ("yaml", "load"),
    ("yaml", "full_load"),
    ("yaml", "unsafe_load"),
    ("os", "system"),
    ("os", "popen"),
    ("joblib", "load"),
    ("joblib", "dump"),
}
LOADERS = {"Loader", "UnsafeLoader", "FullLoader", "CLoader"}


def offences(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            yield from (f"import {name}" for name in names if name.split(".")[0] in MODULES)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in METHODS or (node.value.id == "yaml" and node.attr in LOADERS):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Call):
            yield from _call_offences(node)


def _call_offences(node: ast.Call) -> Iterator[str]:
    if isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        yield node.func.id
    for word in node.keywords:
        constant = word.value.value if isinstance(word.value, ast.Constant) else None
        if word.arg in ("allow_pickle", "shell") and constant is not False:
            yield f"{word.arg}={constant}"
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in ("load", "save"):
        of_numpy = isinstance(function.value, ast.Name) and function.value.id == "np"
        if of_numpy and not any(word.arg == "allow_pickle" for word in node.keywords):
            yield f"np.{function.attr} without allow_pickle=False"


@for_each("path", SOURCES)
def test_nothing_can_run_data(path: Path) -> None:
    assert list(offences(ast.parse(path.read_text(encoding="utf-8")))) == []


@for_each(
    "line",
    [
        "import pickle",
        "from pickle import loads",
        "eval('1')",
        "exec(x)",
        "yaml.load(x)",
        "yaml.load(x, Loader=yaml.Loader)",
        "np.load(x)",
        "np.load(x, allow_pickle=True)",
        "np.load(x, allow_pickle=flag)",
        "subprocess.run(x, shell=True)",
        "os.system(x)",
        "joblib.load(x)",
    ],
)
def test_the_check_itself_sees(line: str) -> None:
    assert list(offences(ast.parse(line)))
