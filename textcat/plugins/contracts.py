"""Check what plugins return, and keep them from changing what they are given.

A wrong type or NaN would otherwise become another number, or an error far from its cause. Arguments are read-only:
a plugin that overwrites them would change the results of other methods.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from textcat.plugins.discovery import Plugin, report_plugin_errors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
CorpusDocument = TypeVar("CorpusDocument")
SIDES = ("train", "test", "unused")


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
