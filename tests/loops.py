"""One test over many values, where a case for each would say no more."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any


def for_each(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Run a test with each of the values in turn; a failure is noted with the values that it had.

    Each turn has a `tmp_path` and a `monkeypatch` of its own.
    """
    several = not isinstance(names, str)
    chosen = list(values)
    assert chosen

    def decorate(test: Callable[..., None]) -> Any:
        @wraps(test)
        def repeat(**fixtures: Any) -> None:
            for number, value in enumerate(chosen):
                given = dict(zip(names, value, strict=True)) if several else {names: value}
                own = dict(fixtures)
                if folder := fixtures.get("tmp_path"):
                    own["tmp_path"] = folder / str(number)
                    own["tmp_path"].mkdir()
                try:
                    if patch := fixtures.get("monkeypatch"):
                        with patch.context() as own["monkeypatch"]:
                            test(**own, **given)
                    else:
                        test(**own, **given)
                except BaseException as error:
                    error.add_note(f"with {', '.join(f'{name}={each!r}' for name, each in given.items())}")
                    raise

        taken = inspect.signature(test)
        left = [
            each for each in taken.parameters.values() if each.name not in ([*names] if several else [names])
        ]
        repeat.__signature__ = taken.replace(parameters=left)  # type: ignore[attr-defined]
        return repeat

    return decorate
