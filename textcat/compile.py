"""Compile kernels with numba on first use, without the GIL, and cache them on disk.

numba takes longer to import than a cached run takes: it is imported with the first call of a kernel.

A cached kernel is machine code: one wrong bit crashes the process or changes numbers. Each kernel is a separate file
with a checksum, which is verified before the file is used. Its name contains a hash of the kernel's source and of all
modules that it imports, because kernels contain the code of the kernels that they call, and a hash of the signature,
the processor and the compiler versions.
"""

from __future__ import annotations

import hashlib
import logging
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

KernelParameters = ParamSpec("KernelParameters")
KernelResult = TypeVar("KernelResult")

logger = logging.getLogger(__name__)


class LazyKernel(Generic[KernelParameters, KernelResult]):
    """A kernel that is compiled, or read from disk, on its first call; kernels can call it and take it as argument."""

    __wrapped__: Callable[KernelParameters, KernelResult]
    __qualname__: str

    def __init__(self, function: Callable[KernelParameters, KernelResult], **options: Any) -> None:
        update_wrapper(self, function)
        self._options = options

    @cached_property
    def dispatcher(self) -> Any:
        """The dispatcher of numba."""
        return _make_dispatcher(self.__wrapped__, self._options)

    @property
    def is_loaded(self) -> bool:
        """Whether this process has compiled the kernel or read it from disk, for any types."""
        return "dispatcher" in vars(self) and bool(self.dispatcher.signatures)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba gives this kernel in other kernels."""
        return self.dispatcher._numba_type_

    def __call__(self, *arguments: KernelParameters.args, **named: KernelParameters.kwargs) -> KernelResult:
        """Run the compiled kernel."""
        result: KernelResult = self.dispatcher(*arguments, **named)
        return result

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the dispatcher, such as py_func."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        """Return the name for pickle, as functions do."""
        return self.__qualname__


def _make_dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    import numba  # noqa: PLC0415

    options |= {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy", "no_cfunc_wrapper": True}
    kernel: Any = numba.njit(**options)(function)
    compile_for = kernel._compile_for_args
    kernel._compile_for_args = lambda *arguments, **named: hear_interrupts(compile_for, *arguments, **named)
    try:
        kernel._cache = _make_kernel_cache(function)
    except (RuntimeError, OSError, ValueError) as error:
        # Neither the module's folder nor the user's cache folder is writable, or there is no source to hash.
        logger.info("compiling %s for this process only: %s", function.__name__, error)
    return kernel


def hear_interrupts(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call a function and raise KeyboardInterrupt afterwards if one was raised meanwhile and forgotten.

    Python prints and forgets what is raised in a finalizer, and the compiler has many.
    """
    handle = signal.getsignal(signal.SIGINT)
    if not callable(handle) or threading.current_thread() is not threading.main_thread():
        return function(*arguments, **named)
    raised: list[int] = []

    def note(number: int, frame: Any) -> None:
        try:
            handle(number, frame)
        except KeyboardInterrupt:
            raised.append(number)
            raise

    signal.signal(signal.SIGINT, note)
    try:
        result = function(*arguments, **named)
    finally:
        signal.signal(signal.SIGINT, handle)
    if raised:
        raise KeyboardInterrupt
    return result


@cache
def _make_kernel_files_class() -> Any:
    """Return the class that keeps the files of a kernel; a function, so that numba is imported when it is used."""
    import llvmlite  # type: ignore[import-untyped]  # noqa: PLC0415
    import numba  # noqa: PLC0415
    from numba.core import config  # noqa: PLC0415
    from numba.core.caching import IndexDataCacheFile  # noqa: PLC0415

    versions = (numba.__version__, llvmlite.__version__, bool(getattr(config, "USING_SVML", False)))

    class KernelFiles(IndexDataCacheFile):
        """One file for each signature, with a checksum at its end, which the reader of its data ignores."""

        def __init__(self, folder: str, base: str, sources: str) -> None:
            super().__init__(folder, base, sources)  # type: ignore[no-untyped-call]
            self.folder, self.base, self.sources = Path(folder), base, sources

        def name_file(self, key: Any) -> str | None:
            """Return the name of a signature's file; None if the signature has no description that stays the same."""
            described = repr((key, versions))
            if " at 0x" in described:
                return None
            signature = hashlib.sha256(described.encode()).hexdigest()[:24]
            return f"{self.base}.{self.sources}.{signature}.nbc"

        def load(self, key: Any) -> Any:
            """Return the data of a signature, or None if its file is absent or damaged."""
            name = self.name_file(key)
            if name is None or not _is_whole(self.folder / name):
                return None
            return self._load_data(name)  # type: ignore[no-untyped-call]

        def save(self, key: Any, data: Any) -> None:
            """Write the data of a signature; delete files of other sources."""
            name = self.name_file(key)
            if name is None:
                return
            content: bytes = self._dump(data)  # type: ignore[no-untyped-call]
            with self._open_for_write(str(self.folder / name)) as out:
                out.write(content + _compute_checksum(name, content))
            for other in [*self.folder.glob(f"{self.base}.*.nbc"), *self.folder.glob(f"{self.base}.nbi")]:
                if not other.name.startswith(f"{self.base}.{self.sources}."):
                    other.unlink(missing_ok=True)

        def flush(self) -> None:
            """Do nothing: there is no index file."""

    return KernelFiles


def _make_kernel_cache(function: Callable[..., Any]) -> Any:
    """Return the cache of a kernel: files in the folder that numba chooses, each verified before it is loaded."""
    from numba.core.caching import FunctionCache  # noqa: PLC0415

    class KernelCache(FunctionCache):
        """A cache of kernels on disk; a kernel that cannot be read or written is compiled for this process only."""

        def __init__(self, py_func: Callable[..., Any]) -> None:
            super().__init__(py_func)  # type: ignore[no-untyped-call]
            self._cache_file = _make_kernel_files_class()(
                self._cache_path, self._impl.filename_base, _hash_sources(py_func.__module__)
            )

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """Return the kernel for a signature, or None to have it compiled."""
            try:
                return super().load_overload(sig, target_context)  # type: ignore[no-untyped-call]
            except Exception as error:
                logger.info("recompiling a cached kernel: %s", error)
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            """Keep a compiled kernel; if it cannot be written, it is only compiled again later."""
            try:
                super().save_overload(sig, data)  # type: ignore[no-untyped-call]
            except OSError as error:
                logger.info("cannot keep a compiled kernel: %s", error)

    return KernelCache(function)


def _compute_checksum(name: str, content: bytes) -> bytes:
    return hashlib.sha256(name.encode() + content).digest()


def _is_whole(path: Path) -> bool:
    """Return whether a kernel's file ends with the checksum of its name and contents."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    size = hashlib.sha256().digest_size
    whole = _compute_checksum(path.name, content[:-size]) == content[-size:]
    if not whole:
        logger.warning("%s is damaged: compiling the kernel again", path)
    return whole


@cache
def _hash_sources(module: str) -> str:
    """Return a hash of the source of a module and of the modules of textcat and its own package that it imports."""
    first = _locate_source(module)
    if first is None:
        raise OSError(f"{module} has no source file")
    packages = frozenset({"textcat", module.partition(".")[0]})
    found: dict[Path, bytes] = {}
    waiting = [first]
    while waiting:
        path = waiting.pop()
        if path not in found:
            content = path.read_bytes()
            found[path] = hashlib.sha256(content).digest()
            waiting.extend(_find_imports(path, content.decode("utf-8"), packages))
    together = hashlib.sha256()
    for path in sorted(found):
        together.update(path.name.encode() + found[path])
    return together.hexdigest()[:24]


_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+([\w.]+))", re.MULTILINE
)


def _find_imports(path: Path, source: str, packages: frozenset[str]) -> Iterator[Path]:
    """Yield the source files of the modules that a file imports from these packages."""
    for dots, base, held, plain in _IMPORT.findall(source):
        names = [base or plain, *(f"{base}.{name}".lstrip(".") for name in re.findall(r"\w+", held))]
        for name in names:
            if dots:
                located = _find_source(path.parents[len(dots) - 1].joinpath(*name.split(".")))
            else:
                located = _locate_source(name) if name.partition(".")[0] in packages else None
            if located is not None:
                yield located


@cache
def _locate_source(name: str) -> Path | None:
    """Return the file of a module beside its package; None if there is none."""
    top, *rest = name.split(".")
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None or not rest:
        return file and Path(file)
    return _find_source(Path(file).parent.joinpath(*rest))


def _find_source(base: Path) -> Path | None:
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def compile_kernel(
    function: Callable[KernelParameters, KernelResult],
) -> LazyKernel[KernelParameters, KernelResult]:
    """Return a function that compiles the kernel on its first call.

    Rounding may change only by contracting a product and a sum: lanes are independent, so loops over lanes
    vectorize without reordering sums. Division follows IEEE, without a check for zero.
    """
    return LazyKernel(function)


def compile_part(
    function: Callable[KernelParameters, KernelResult],
) -> LazyKernel[KernelParameters, KernelResult]:
    """Return a part of kernels, for them only: its code is copied into each of them."""
    return LazyKernel(function, forceinline=True, no_cpython_wrapper=True, _nrt=False)
