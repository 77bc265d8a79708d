"""Standard streams: JSON that every program reads, text that cannot control a terminal, closed pipes, full disks."""

from __future__ import annotations

import errno
import io
import json
import logging
import math
import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

from textcat.errors import UsageError


def print_json(value: Any, *, ensure_ascii: bool = False) -> None:
    """Print data as JSON, with null for NaN and infinity, which JSON does not have."""
    click.echo(json.dumps(_replace_nan(value), indent=1, ensure_ascii=ensure_ascii, allow_nan=False))


def write_new_file(path: Path, text: str) -> None:
    """Write a file that does not exist yet."""
    try:
        content = text.encode()
        with path.open("xb") as opened:
            opened.write(content)
    except OSError as error:
        hint = "Choose a new file in an existing, writable folder."
        raise UsageError(f"cannot be written: {error.strerror}", where=str(path), hint=hint) from error


def _replace_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _replace_nan(inner) for key, inner in value.items()}
    return [_replace_nan(inner) for inner in value] if isinstance(value, list | tuple) else value


def print_text(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print lines for people: all that a user's files name goes through here, and no character controls a terminal."""
    click.echo(text.translate(_SIGNS_IN_TEXT), err=err, nl=nl)


class VisibleFormatter(logging.Formatter):
    """Messages of the log, which also quote the user's files."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message with control characters made visible."""
        return super().format(record).translate(_SIGNS_IN_TEXT)


def make_visible(value: Any) -> Any:
    """Return a text, or all texts in data, with control characters replaced by a visible sign, one for each.

    Such characters can move the cursor, set the title of a terminal or reverse the order of letters. Line ends and
    tabs are kept in the text of a document, the value of a key `document`.
    """
    if isinstance(value, str):
        return value.translate(_SIGNS)
    if isinstance(value, dict):
        return {
            make_visible(key): {
                make_visible(field): text.replace("\r\n", " \n").translate(_SIGNS_IN_TEXT)
                for field, text in inner.items()
            }
            if key == "document"
            else make_visible(inner)
            for key, inner in value.items()
        }
    return [make_visible(inner) for inner in value] if isinstance(value, list | tuple) else value


_UNKNOWN = "\N{REPLACEMENT CHARACTER}"
_REORDERING = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029]
_SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20)},
    0x7F: "\N{SYMBOL FOR DELETE}",
    # Bytes of names that are not UTF-8 are surrogates, which cannot be printed.
    **dict.fromkeys([*range(0x80, 0xA0), *_REORDERING, *range(0xD800, 0xE000)], _UNKNOWN),
}
_SIGNS_IN_TEXT = {code: sign for code, sign in _SIGNS.items() if chr(code) not in "\n\t"}


# What a shell reports for a program that SIGPIPE ended.
READER_ENDED = 141
WRITE_FAILED = 4
CLOSED = 2


@contextmanager
def guard_standard_streams() -> Iterator[None]:
    """Run a command in this block: a reader that ended (`| head`) gives 141, a full disk a message and exit code 4."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - it lives as long as the process
    if sys.stdout is None:
        click.echo("Error: standard output is closed.\nRedirect it to a file or to /dev/null.", err=True)
        sys.exit(CLOSED)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_ClosedInput()))
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        _exit_after_write_error(error)


@contextmanager
def restore_broken_pipes() -> Iterator[None]:
    """Raise BrokenPipeError for the exit code 1 that click makes of it: here 1 means a number out of tolerance."""
    try:
        yield
    except SystemExit as stop:
        if stop.code == 1 and (_has_lost_reader(1) or _has_lost_reader(2)):
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from stop
        raise


class _ClosedInput(io.RawIOBase):
    """Standard input of a process that was started without one."""

    name = "<stdin>"

    def readable(self) -> bool:
        """Return True: reading explains what is wrong."""
        return True

    def readinto(self, _: object) -> NoReturn:
        """Raise the error for reading a closed standard input."""
        raise UsageError(
            "standard input is closed",
            hint="Name a file, or redirect standard input from one or from a pipe.",
        )


def _exit_after_write_error(error: OSError) -> NoReturn:
    """Exit with the code for output that could not be written, without a second error when Python ends."""
    ended = error.errno == errno.EPIPE and (_has_lost_reader(1) or _has_lost_reader(2))
    if not ended:
        broken_pipe = error.errno == errno.EPIPE
        what = "a pipe to another process broke" if broken_pipe else "cannot write standard output"
        click.echo(
            f"Error: {what}: {error.strerror}\nRun the command again; finished work is kept.", err=True
        )
    # Discard what is still buffered.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    if _has_lost_reader(2):
        os.dup2(nowhere, 2)
    os.close(nowhere)
    sys.exit(READER_ENDED if ended else WRITE_FAILED)


def _has_lost_reader(descriptor: int) -> bool:
    """Return whether the reader of a pipe has ended."""
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))
