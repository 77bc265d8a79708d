"""Re-run classic text categorization experiments, and train linear categorizers on your own documents."""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Categorizer", "__version__", "tune"]

if TYPE_CHECKING:
    from textcat.serving.categorizer import Categorizer
    from textcat.serving.training import tune


def __getattr__(name: str) -> Any:
    """Return a name of the Python interface; it is imported when it is used, because numpy takes a while."""
    if name == "Categorizer":
        from textcat.serving.categorizer import Categorizer  # noqa: PLC0415

        return Categorizer
    if name == "tune":
        from textcat.serving.training import tune  # noqa: PLC0415

        return tune
    raise AttributeError(f"module 'textcat' has no attribute {name!r}")
