"""Kernels on disk that cannot be read are compiled anew, and a machine without a place for them does without."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import textcat
from tests.conftest import PROJECT
from textcat.compile import _find_imports, _hash_sources, _is_whole, compile_kernel

ROOT = Path(textcat.__file__).parent
KERNEL = """
from textcat.compile import compile_kernel

@compile_kernel
def twice(value):
    return 2.0 * value
"""
CALL = "from kernel import twice; print(twice(21.0), sum(twice._cache_hits.values()))"


def called(folder: Path, **environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        cwd=folder,
        env=inherited | {"PYTHONPATH": str(PROJECT)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kernel.py").write_text(KERNEL)
    assert called(tmp_path) == "42.0 0"
    assert called(tmp_path) == "42.0 1"
    return tmp_path


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "__pycache__").glob("*.nbc"))


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "zeros"])
def test_a_damaged_kernel_is_made_anew(folder: Path, damage: str) -> None:
    (file,) = kept(folder)
    content = file.read_bytes()
    file.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "empty": b"",
            "other": b"cgone\nthing\n.",
            "zeros": content[:-4096] + bytes(4096),
        }[damage]
    )
    assert called(folder) == "42.0 0"
    assert called(folder) == "42.0 1"


def test_no_flipped_bit_of_a_kernel_is_loaded(folder: Path) -> None:
    """Machine code with one other bit ends the process, or computes something else."""
    (file,) = kept(folder)
    content = file.read_bytes()
    draw = random.Random(1)
    for _ in range(300):
        at = draw.randrange(len(content))
        changed = bytearray(content)
        changed[at] ^= 1 << draw.randrange(8)
        file.write_bytes(changed)
        assert not _is_whole(file)
    file.write_bytes(content)
    assert _is_whole(file)
    other = file.with_name(file.name.replace("twice", "thrice"))
    file.rename(other)
    assert not _is_whole(other)


def test_a_damaged_kernel_does_not_crash(folder: Path) -> None:
    (file,) = kept(folder)
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 2, len(content) // 2 + 2000, 20):
        content[at] ^= 4
    file.write_bytes(content)
    assert called(folder) == "42.0 0"


CALLER = KERNEL.replace("return 2.0", "return LIMIT * scale(1.0)").replace(
    "from textcat", "from helper import LIMIT, scale\nfrom textcat"
)
HELPER = KERNEL.replace("twice", "scale").replace("return 2.0 * value", "return 2.0") + "\nLIMIT = 1.0\n"


def test_a_kernel_follows_the_kernels_and_constants_that_it_uses(tmp_path: Path) -> None:
    """Its machine code contains them; here sizes and times of the files stay the same."""
    package = tmp_path / "kernel"
    package.mkdir()
    (package / "__init__.py").write_text(CALLER.replace("from helper", "from kernel.helper"))
    helper = package / "helper.py"
    helper.write_text(HELPER)
    assert called(tmp_path) == "42.0 0"
    assert called(tmp_path) == "42.0 1"
    for changed in (HELPER.replace("2.0", "4.0"), HELPER.replace("LIMIT = 1.0", "LIMIT = 2.0")):
        facts = helper.stat()
        helper.write_text(changed)
        os.utime(helper, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        remove_bytecode(package)
        assert called(tmp_path) == "84.0 0"
    assert len(list(package.rglob("*twice*.nbc"))) == 1


def remove_bytecode(folder: Path) -> None:
    for path in folder.rglob("*.pyc"):
        path.unlink()


def _negate_twice(value: float) -> float:
    return -2.0 * value


def test_a_kernel_is_loaded_by_its_first_call() -> None:
    kernel = compile_kernel(_negate_twice)
    assert not kernel.is_loaded
    assert kernel(2.0) == -4.0
    assert kernel.is_loaded


def _halve(value: float) -> float:
    return value / 2.0


class _Interrupted:
    """Gets Ctrl-C in its finalizer, where Python forgets what is raised."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("hears_interrupts")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_ctrl_c_while_a_kernel_compiles_is_not_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compile_kernel(_halve)
    compile_one = kernel.dispatcher.compile

    def compile_interrupted(signature: object) -> object:
        _Interrupted()
        return compile_one(signature)

    monkeypatch.setattr(kernel.dispatcher, "compile", compile_interrupted)
    with pytest.raises(KeyboardInterrupt):
        kernel(3.0)
    assert kernel(3.0) == 1.5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_relative_imports_are_followed(tmp_path: Path) -> None:
    package = tmp_path / "kernel"
    package.mkdir()
    (package / "__init__.py").write_text(CALLER.replace("from helper", "from .helper"))
    (package / "helper.py").write_text(HELPER)
    assert called(tmp_path) == "42.0 0"
    remove_bytecode(package)
    (package / "helper.py").write_text(HELPER.replace("2.0", "4.0"))
    assert called(tmp_path) == "84.0 0"


def test_every_kernel_of_textcat_has_sources_to_hash() -> None:
    sources = [path for path in ROOT.rglob("*.py") if "@compile_kernel" in path.read_text()]
    assert len(sources) > 10
    for path in sources:
        name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        assert len(_hash_sources(name)) == 24
    steps = "textcat.linear.fast.dual_steps"
    read = set(
        _find_imports(
            ROOT / "linear/fast/dual_steps.py",
            (ROOT / "linear/fast/dual_steps.py").read_text(),
            frozenset({"textcat"}),
        )
    )
    assert {ROOT / "compile.py", ROOT / "linear/fast/layout.py", ROOT / "linear/simd.py"} <= read
    assert _hash_sources(steps) != _hash_sources("textcat.linear.fast.layout")


def test_beside_a_package_that_cannot_be_written_to_a_kernel_is_kept_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.mkdir()
    places = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    assert called(tmp_path, **places) == "42.0 0"
    assert called(tmp_path, **places) == "42.0 1"
    assert list(home.rglob("*.nbc"))
    chosen = {"NUMBA_CACHE_DIR": str(tmp_path / "chosen")}
    assert called(tmp_path, **chosen) == "42.0 0"
    assert called(tmp_path, **chosen) == "42.0 1"


def test_without_a_place_to_keep_it_a_kernel_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    (tmp_path / "__pycache__").write_text("")
    places = {"HOME": str(nowhere), "XDG_CACHE_HOME": str(nowhere), "PYTHONDONTWRITEBYTECODE": "1"}
    assert called(tmp_path, **places) == "42.0 0"
