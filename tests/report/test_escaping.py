"""External text in LaTeX, Markdown and figures: it is shown as it is, in one line, and is never markup."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.report.escaping import (
    MOST_LABEL_CHARACTERS,
    escape_figure_label,
    escape_latex,
    escape_markdown,
    format_latex_number,
    join_lines,
)

texts = st.text(
    st.one_of(st.sampled_from('\\{}&%$#_~^<>|"[]*`- \n\t\x1b'), st.characters(codec="utf-8")), max_size=30
)
COMMANDS = {
    "\\textbackslash{}": "\\",
    "\\textasciitilde{}": "~",
    "\\textasciicircum{}": "^",
    "\\textless{}": "<",
    "\\textgreater{}": ">",
    "\\textbar{}": "|",
    "\\textquotedbl{}": '"',
    "{[}": "[",
    "{]}": "]",
    "{*}": "*",
    **{f"\\{character}": character for character in "{}&%$#_"},
}
COMMAND = re.compile("|".join(map(re.escape, sorted(COMMANDS, key=len, reverse=True))))


@given(texts)
def test_latex_prints_the_text_literally(text: str) -> None:
    """Reading the commands back gives the text in one line; outside commands there is no special character."""
    escaped = escape_latex(text)
    assert COMMAND.sub(lambda found: COMMANDS[found[0]], escaped) == join_lines(text)
    rest = COMMAND.sub("", escaped)
    assert not set('\\{}&%$#_~^<>|"[]*') & set(rest)


@given(texts)
def test_lines_are_joined_without_control_characters(text: str) -> None:
    line = join_lines(text)
    assert line.isprintable()
    assert join_lines(line) == line
    assert line.split() == "".join(c if c.isprintable() or c.isspace() else " " for c in text).split()


@given(st.lists(texts, min_size=1, max_size=4))
def test_a_row_of_markdown_keeps_its_cells(cells: list[str]) -> None:
    """Cells are divided at pipes without a backslash before them, and contain no tags."""
    row = " | ".join(escape_markdown(cell) for cell in cells)
    found = re.split(r" (?<!\\)\| ", f" {row} ".strip(" ") if row.strip() else row)
    assert "\n" not in row
    assert "<" not in row
    unescaped = re.sub(r"\\[\\`*|\[\]]", "", row)
    assert unescaped.count("|") == len(cells) - 1
    assert not set("`*[]") & set(unescaped)
    if all(join_lines(cell) for cell in cells):
        assert len(found) == len(cells)


@given(texts)
def test_labels_of_figures_are_shown_in_legends(text: str) -> None:
    """matplotlib leaves labels that begin with an underscore out of legends."""
    label = escape_figure_label(text)
    assert not label.startswith("_")
    whole = join_lines(text)
    assert (
        label.strip() == whole
        if len(whole) <= MOST_LABEL_CHARACTERS
        else len(label) <= MOST_LABEL_CHARACTERS + 1
    )


@for_each(
    ("text", "expected"),
    [
        ("86.9", "86.9"),
        ("-0.5", "$-0.5$"),
        ("-3", "$-3$"),
        ("-", "--"),
        ("10^-5", "$10^{-5}$"),
        ("10^3", "$10^{3}$"),
        ("10^0.5", "$10^{0.5}$"),
        ("2.10^3", r"2.10\textasciicircum{}3"),
        ("-5%", r"-5\%"),
        ("n/a", "n/a"),
        ("", ""),
    ],
)
def test_numbers_have_true_minus_signs_and_powers(text: str, expected: str) -> None:
    assert format_latex_number(text) == expected
