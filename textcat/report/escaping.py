"""Escape external text for LaTeX, Markdown and figures, and format Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tabulate import tabulate

_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # After \\ or \midrule, TeX would read these as an optional argument or a star.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_MARKDOWN_SPECIAL = re.compile(r"([\\`*|\[\]])")
_POWER_OF_TEN = re.compile(r"10\^(-?\d+(?:\.\d+)?)")
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")


def escape_latex(text: str) -> str:
    """Escape a text so that LaTeX prints it literally, in one line."""
    return "".join(_LATEX_ESCAPES.get(character, character) for character in join_lines(text))


def format_latex_number(text: str) -> str:
    """Format a number for LaTeX, with powers of ten as superscripts and a true minus sign."""
    if power := _POWER_OF_TEN.fullmatch(text):
        return f"$10^{{{power[1]}}}$"
    if text == "-":
        return "--"
    return f"${text}$" if _NEGATIVE.fullmatch(text) else escape_latex(text)


def escape_markdown(text: str) -> str:
    """Escape a text so that it stays in its Markdown table cell and contains no markup."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", join_lines(text)).replace("<", "&lt;")


def format_markdown_table(
    rows: Sequence[Sequence[str]], headers: Sequence[str], style: str = "github"
) -> str:
    """Format cells as a table without reading numbers in them; `style` is a table format of tabulate."""
    return tabulate(rows, headers=headers, tablefmt=style, disable_numparse=True)


# Longer labels leave no room for the axes.
MOST_LABEL_CHARACTERS = 60


def escape_figure_label(text: str) -> str:
    """Return a text that matplotlib can write as XML and shows in a legend; of a long one beginning and end."""
    line = join_lines(text)
    if len(line) > MOST_LABEL_CHARACTERS:
        half = MOST_LABEL_CHARACTERS // 2
        line = f"{line[:half]}…{line[1 - half :]}"
    # matplotlib leaves labels with a leading underscore out of legends.
    return f" {line}" if line.startswith("_") else line


def join_lines(text: str) -> str:
    """Return a text in one line without control characters."""
    return " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
