"""Names from outside in the languages of papers: LaTeX and Markdown."""

from __future__ import annotations

import re

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
}
_MARKDOWN_SPECIAL = re.compile(r"([\\`*|\[\]])")
_POWER_OF_TEN = re.compile(r"10\^(-?\d+(?:\.\d+)?)")
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")


def escape_latex(text: str) -> str:
    """A text that LaTeX prints as it stands, in one line."""
    return "".join(_LATEX_ESCAPES.get(character, character) for character in _join_lines(text))


def format_latex_number(text: str) -> str:
    """A number as tables of papers write it: powers raised, minus signs as such."""
    if power := _POWER_OF_TEN.fullmatch(text):
        return f"$10^{{{power[1]}}}$"
    if text == "-":
        return "--"
    return f"${text}$" if _NEGATIVE.fullmatch(text) else escape_latex(text)


def escape_markdown(text: str) -> str:
    """A text that stays within its cell, and is no markup."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", _join_lines(text)).replace("<", "&lt;")


def _join_lines(text: str) -> str:
    return " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
