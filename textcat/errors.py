"""The errors a person may see: what went wrong, where, and what to do. Each carries its exit code."""

from __future__ import annotations


class TextcatError(Exception):
    """One message to a person; `exit_code` is what the command line returns."""

    exit_code = 4

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what)

    def __str__(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        if self.hint:
            lines.append(self.hint)
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.hint)


def _rebuild(kind: type[TextcatError], what: str, where: str, hint: str) -> TextcatError:
    return kind(what, where=where, hint=hint)


class UsageError(TextcatError):
    """A command, a setting or a configuration file that cannot be carried out as written."""

    exit_code = 2


class DataNotAvailableError(TextcatError):
    """A collection's files are not here and could not be brought."""

    exit_code = 3


class BadDataError(TextcatError):
    """A file is here but its contents break its format; `where` is file:line or a document id."""

    exit_code = 4


class StageFailedError(TextcatError):
    """A stage started and could not finish."""

    exit_code = 4


class OutOfToleranceError(TextcatError):
    """A number moved, or no longer agrees with what was printed."""

    exit_code = 1
