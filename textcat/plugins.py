"""Find, load and call the plugins that other packages declare as entry points `textcat.<kind>`.

A plugin is a method or a collection with a name. A name that textcat has itself, or that two packages declare, is
refused with the names of the packages.

What plugins return is checked: a wrong type or NaN would otherwise become another number, or an error far from its
cause. Arguments are read-only: a plugin that overwrites them would change the results of other methods.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from textcat.errors import StageFailedError, TextcatError, UsageError
from textcat.yaml_reader import find_near_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Floats: TypeAlias = "NDArray[np.float64]"
CorpusDocument = TypeVar("CorpusDocument")
SIDES = ("train", "test", "unused")


PLUGIN_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "corpora": "collection",
        "tokenizers": "tokenizer",
        "selection_scores": "selection score",
        "losses": "loss",
        "priors": "prior",
        "algorithms": "algorithm",
        "thresholds": "threshold rule",
        "measures": "measure",
    }
)
"""Kind of plugin -> its name in messages."""


@dataclass(frozen=True)
class Plugin:
    """One entry point of one installed package."""

    kind: str
    name: str
    distribution: str
    version: str
    entry: EntryPoint

    @property
    def identity(self) -> str:
        """Package and version."""
        return f"{self.distribution} {self.version}"

    @property
    def signature(self) -> str:
        """Package, version and source, as they enter keys and signatures."""
        source = hash_source(self.entry.module)
        return f"{self.identity}, source {source}" if source else self.identity

    @property
    def title(self) -> str:
        """The plugin's name in messages."""
        return f"the {PLUGIN_KINDS[self.kind]} {self.name!r} of {self.identity}"


@cache
def list_plugins(kind: str) -> tuple[Plugin, ...]:
    """Return the plugins of a kind of all installed packages, by name; packages installed later are not seen."""
    found = [
        Plugin(kind, entry.name, entry.dist.name, entry.dist.version, entry)
        for entry in entry_points(group=f"textcat.{kind}")
        if entry.dist is not None
    ]
    return tuple(sorted(found, key=lambda plugin: (plugin.name, plugin.identity)))


def find_plugin(kind: str, name: str, own: Collection[str]) -> Plugin | None:
    """Return the plugin of that name or None; `own` are the names that textcat has itself."""
    found = [plugin for plugin in list_plugins(kind) if plugin.name == name]
    if not found:
        return None
    holders = ["textcat itself"] * (name in own) + [plugin.identity for plugin in found]
    if len(holders) > 1:
        raise UsageError(
            f"the {PLUGIN_KINDS[kind]} {name!r} is declared by {' and by '.join(holders)}",
            where=f"entry points textcat.{kind}",
            hint="Uninstall all packages but one, or rename the plugin.",
        )
    return found[0]


def list_known_names(kind: str, own: Collection[str]) -> list[str]:
    """Return all names of a kind, textcat's own first."""
    return [*own, *dict.fromkeys(plugin.name for plugin in list_plugins(kind) if plugin.name not in own)]


@cache
def hash_source(module: str) -> str:
    """Return the start of the sha256 over the Python files of the package that a module is in, or of the module.

    It is empty where there are none. Once computed it is kept, as Python keeps the module that it has imported.
    """
    names, spec = module.split("."), None
    # A namespace, which several packages may share, has no file of its own.
    while names and (spec is None or spec.origin is None):
        above = f"{spec.name}." if spec else ""
        try:
            spec = find_spec(above + names.pop(0))
        except (ImportError, AttributeError, ValueError):
            spec = None
        if spec is None:
            return ""
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():
        return ""
    folders = [Path(each) for each in spec.submodule_search_locations or ()]
    files = [(path.relative_to(each).as_posix(), path) for each in folders for path in each.rglob("*.py")]
    found = sha256()
    for name, path in sorted(files) or [("", Path(spec.origin))]:
        content = path.read_bytes()
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()[:12]


def collect_identities(*used: tuple[str, str | None]) -> dict[str, dict[str, str]]:
    """Return package, version and source of the plugins among (kind, name) pairs, as part of a recipe.

    Without plugins the part is empty, so that recipes do not change.
    """
    found = {
        f"{kind}.{name}": plugin.signature
        for kind, name in used
        for plugin in (list_plugins(kind) if name else ())
        if plugin.name == name
    }
    return {"plugins": found} if found else {}


@contextmanager
def report_plugin_errors(plugin: Plugin, what: str) -> Iterator[None]:
    """Turn any error in this block into one that names the plugin; raise textcat's own errors unchanged."""
    try:
        yield
    except TextcatError:
        raise
    except Exception as error:
        raise StageFailedError(
            f"{plugin.title} {what}: {type(error).__name__}: {error}",
            where=plugin.entry.value,
            hint=f"This is a fault of {plugin.distribution} or of its use; -vv shows the traceback.",
        ) from error


def load_plugin(plugin: Plugin, expected: type | None = None) -> Any:
    """Return the object of the entry point; it must be of the expected type, or callable without one."""
    with report_plugin_errors(plugin, "cannot be loaded"):
        found = plugin.entry.load()
        if not (callable(found) if expected is None else isinstance(found, expected)):
            wanted = "a function" if expected is None else f"a {expected.__module__}.{expected.__qualname__}"
            raise TypeError(f"it must be {wanted}, not {found!r}")
    return found


def wrap_plugin_function(
    plugin: Plugin, function: Callable[Arguments, Result]
) -> Callable[Arguments, Result]:
    """Return a plugin's function with errors that name the plugin."""

    @wraps(function, updated=())
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with report_plugin_errors(plugin, "failed"):
            return function(*args, **kwargs)

    return call


@dataclass(frozen=True)
class KnownName:
    """The type `Annotated[str, KnownName(kind, own)]` of settings that name a method; `own()` are textcat's names.

    A plugin is loaded at once, so that one that cannot be loaded is reported before any work.
    """

    kind: str
    own: Callable[[], Collection[str]]

    def check(self, name: str) -> str:
        """Return the name; refuse one that is unknown, declared twice, or a plugin that does not load."""
        own = self.own()
        try:
            plugin = find_plugin(self.kind, name, own)
            if plugin is not None:
                load_plugin(plugin, object)
                return name
        except TextcatError as error:
            raise PydanticCustomError("plugin", "{what}", {"what": " ".join(str(error).split())}) from error
        if name not in own:
            known = list_known_names(self.kind, own)
            near = find_near_names(name, known, most=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known names: {', '.join(known)}"
            raise PydanticCustomError(
                "unknown_name", "there is no {noun} {name}; {hint}",
                {"noun": PLUGIN_KINDS[self.kind], "name": repr(name), "hint": hint},
            )  # fmt: skip
        return name

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"type": "string", "enum": list_known_names(self.kind, self.own())}


def make_read_only(value: Any) -> Any:
    """Return an array or a sparse matrix whose values cannot be changed; return other values as they are."""
    import numpy as np  # noqa: PLC0415 - takes long to import

    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if hasattr(value, "indptr"):
        matrix: Any = copy.copy(value)
        for part in ("data", "indices", "indptr"):
            setattr(matrix, part, make_read_only(getattr(value, part)))
        return matrix
    return value


def wrap_numeric_function(
    plugin: Plugin,
    function: Callable[..., Any],
    get_shape: Callable[..., tuple[int, ...]],
    *,
    nan: bool = False,
) -> Callable[..., Floats]:
    """Return a plugin's function with checks: real numbers of the shape `get_shape(*arguments)`, and no NaN."""

    def call(*arguments: Any) -> Floats:
        import numpy as np  # noqa: PLC0415 - takes long to import

        with report_plugin_errors(plugin, "failed"):
            found = _read_numbers(function(*map(make_read_only, arguments)))
            expected = get_shape(*arguments)
            if found.shape != expected:
                raise ValueError(f"it returned numbers of shape {found.shape}, not {expected}")
            if not nan and np.isnan(found).any():
                raise ValueError("it returned NaN")
        return found

    return call


def wrap_elementwise_function(plugin: Plugin, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a plugin's function of an array with checks: one number for each of its values."""
    return wrap_numeric_function(plugin, function, lambda values: tuple(getattr(values, "shape", ())))


def _read_numbers(found: Any) -> Floats:
    import numpy as np  # noqa: PLC0415 - takes long to import

    values = np.asarray(found)
    if values.dtype.kind not in "biuf":
        shown = type(found).__name__ if values.ndim == 0 else f"an array of {values.dtype}"
        raise TypeError(f"it returned {shown}, not real numbers")
    return values.astype(np.float64, copy=False)


def wrap_word_function(
    plugin: Plugin, function: Callable[[str], Iterable[str]]
) -> Callable[[str], list[str]]:
    """Return a plugin's tokenizer with checks: a list of words that can be written as UTF-8."""

    def call(text: str) -> list[str]:
        with report_plugin_errors(plugin, "failed"):
            return _read_texts(function(text), "words")

    return call


def _read_texts(found: Any, what: str) -> list[str]:
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise TypeError(f"{what} must be a list of texts, not {found!r:.80}")
    texts = list(found)
    for text in texts:
        _require_text(text, what)
    return texts


def _require_text(value: Any, what: str) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{what} must be text, not {value!r:.80}")
    value.encode()  # Raises UnicodeEncodeError for half of a surrogate pair.


def read_categories(found: Any) -> tuple[str, ...]:
    """Return the categories of a plugin's collection, checked."""
    names = _read_texts(found, "categories")
    if len(set(names)) < len(names):
        raise ValueError("a category occurs twice")
    return tuple(names)


def read_fingerprint(found: Any) -> str:
    """Return the fingerprint of a plugin's collection, checked: the same one for all contents would hide changes."""
    if not isinstance(found, str) or not found:
        raise TypeError(f"the fingerprint must be the sha256 of the contents as text, not {found!r:.80}")
    return found


def check_documents(documents: Iterable[CorpusDocument]) -> Iterator[CorpusDocument]:
    """Yield the documents of a plugin's collection, each checked."""
    seen: set[str] = set()
    for number, document in enumerate(documents, 1):
        try:
            _check_document(document, seen)
        except (TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"document {number}: {_describe(error)}") from error
        yield document


def _describe(error: Exception) -> str:
    return "half of a surrogate pair cannot be written" if isinstance(error, UnicodeError) else str(error)


def _check_document(document: Any, seen: set[str]) -> None:
    _require_text(document.id, "id")
    if document.id in seen:
        raise ValueError(f"an earlier document has the id {document.id!r}")
    seen.add(document.id)
    if not isinstance(document.fields, Mapping):
        raise TypeError(f"fields must map names to texts, not {document.fields!r:.80}")
    for name, text in document.fields.items():
        _require_text(name, "the name of a field")
        _require_text(text, f"the field {name!r}")
    if not isinstance(document.labels, Collection):
        raise TypeError(f"labels must be texts, not {document.labels!r:.80}")
    _read_texts(document.labels, "labels")
    if document.split not in SIDES:
        raise ValueError(f"split must be one of {', '.join(SIDES)}, not {document.split!r:.80}")
