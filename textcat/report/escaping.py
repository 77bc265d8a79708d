"""Names from outside in the languages of papers: LaTeX and Markdown."""

from __future__ import annotations

import re

_LATEX = {
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
_MARKDOWN = re.compile(r"([\\`*|\[\]])")
_POWER = re.compile(r"10\^(-?\d+(?:\.\d+)?)")
_NEGATIVE = re.compile(r"-\d+(?:\.\d+)?")


def latex(text: str) -> str:
    """A text that LaTeX prints as it stands, in one line."""
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def latex_number(text: str) -> str:
    """A number as tables of papers write it: powers raised, minus signs as such."""
    if power := _POWER.fullmatch(text):
        return f"$10^{{{power[1]}}}$"
    if text == "-":
        return "--"
    return f"${text}$" if _NEGATIVE.fullmatch(text) else latex(text)


def markdown(text: str) -> str:
    """A text that stays within its cell, and is no markup."""
    return _MARKDOWN.sub(r"\\\1", _one_line(text)).replace("<", "&lt;")


def _one_line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() or c.isspace() else " " for c in text).split())
