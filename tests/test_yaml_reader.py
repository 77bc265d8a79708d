"""YAML is plain data with unique keys, and every fault is one message with file, line, column and the line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import textcat
from tests.loops import for_each
from textcat.errors import UsageError
from textcat.experiment.spec.loading import check_mapping
from textcat.yaml_reader import (
    YamlPlace,
    find_near_names,
    list_first,
    parse_yaml,
    read_packaged_yaml,
    read_yaml,
    suggest_names,
)

HERE = Path("e.yaml")


@for_each(
    ("text", "place", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "e.yaml:3:1", "'a' is given twice"),
        ("a:\n  b: 1\n  b: 2\n", "e.yaml:3:3", "'b' is given twice"),
        ("a: [1, 2\nb: 3\n", "e.yaml:2:2", "not valid YAML"),
        ("- 1\n- 2\n", "e.yaml:1:1", "a mapping of keys"),
        ("? [1]\n: 2\n", "e.yaml:1:3", "plain word"),
        ("a: !!python/object:os.system x\n", "e.yaml:1:4", "not a plain value"),
        ("a: &x {b: 1}\nc:\n  <<: *x\n", "e.yaml:3:3", "merge keys"),
        ("a:\n  - .nan\n", "e.yaml:2:5", "not a finite number"),
        ("a: 1987-02-26\n", "e.yaml:1:4", "a date"),
        ("a: 99999999999999999999\n", "e.yaml:1:4", "too large"),
        ("a: !!float ''\n", "e.yaml:1:4", "not a plain value"),
        ("a: !!bool x\n", "e.yaml:1:4", "not a plain value"),
        ("a: !!timestamp x\n", "e.yaml:1:4", "not a plain value"),
        ("a: !!set {b}\n", "e.yaml:1:4", "not a plain value"),
        ("a: !!python/object/new:os.system [ls]\n", "e.yaml:1:4", "not a plain value"),
        ('a: "\\ud800"\n', "e.yaml:1:4", "surrogate"),
        ("a: &x [*x, *x]\n", "e.yaml:1:4", "nested too deeply"),
        ("a: \f\n", "e.yaml:1:4", "not valid YAML"),
    ],
)
def test_faults_point_at_their_place(text: str, place: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        check_mapping(parse_yaml(text, HERE))
    assert str(caught.value).startswith(place)
    assert "^" in str(caught.value)


def test_aliases_that_multiply_are_refused_at_once() -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    with pytest.raises(UsageError, match="too many values"):
        parse_yaml(f"a0: &a0 [x]\n{layers}", HERE)


def test_long_lines_are_shown_in_part() -> None:
    with pytest.raises(UsageError) as caught:
        parse_yaml(f"a: [{'1, ' * 1000}.nan]\n", HERE)
    assert max(map(len, str(caught.value).splitlines())) <= 104


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-1000, 1000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=5), PLAIN, max_size=4))
def test_plain_data_is_read_as_safe_load_reads_it(data: dict[str, object]) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    assert parse_yaml(text, HERE).data == yaml.safe_load(text)


@given(st.text(max_size=60))
def test_any_text_is_data_or_one_message(text: str) -> None:
    try:
        parse_yaml(text, HERE)
    except UsageError as error:
        assert "e.yaml" in str(error)


def test_data_of_any_kind_is_read_and_empty_text_is_none() -> None:
    assert parse_yaml("- 1\n- a: 2\n", HERE).data == [1, {"a": 2}]
    assert parse_yaml("# nothing\n", HERE).data is None
    assert parse_yaml("- 1\n- a: 2\n", HERE).places[(1, "a")].line == 2


PACKAGE = Path(textcat.__file__).parent


@for_each("path", sorted(PACKAGE.rglob("*.yaml")))
def test_packaged_data_is_read_as_safe_load_reads_it_and_a_repeated_key_is_refused(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    data = read_packaged_yaml(path.relative_to(PACKAGE).as_posix())
    assert data == yaml.safe_load(text)
    if isinstance(data, dict):
        with pytest.raises(UsageError, match="is given twice"):
            parse_yaml(f"{text}\n{json.dumps(next(iter(data)))}: again\n", path)


def test_no_other_module_parses_yaml() -> None:
    users = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if re.search(r"yaml\.(safe_load|load|compose|full_load)", path.read_text(encoding="utf-8"))
    ]
    assert users == ["yaml_reader.py"]


@for_each(
    ("word", "known", "found"),
    [
        ("titel", ["title", "runs"], ["title"]),
        ("f1.micro", ["micro.f1", "macro.f1"], ["micro.f1"]),
        ("minimum_documents", ["documents_minimum", "minimum_document"], ["documents_minimum"]),
        ("xyz", ["title", "runs"], []),
        ("", [], []),
    ],
)
def test_near_names_are_spelt_alike_or_have_the_same_parts(
    word: str, known: list[str], found: list[str]
) -> None:
    assert find_near_names(word, known, most=3) == found
    assert find_near_names(word, list(reversed(known)), most=3) == found


def test_at_most_some_near_names_are_given() -> None:
    known = ["lam1", "lam2", "lam3", "lam4"]
    for most in (1, 2, 3):
        assert len(find_near_names("lam", known, most=most)) == most
    assert suggest_names("lam", known).count(" or ") == 2


def test_a_suggestion_lists_all_names_where_none_is_near() -> None:
    assert suggest_names("titel", ["title", "runs"]) == "Did you mean title?"
    assert suggest_names("xyz", ["b", "a"]) == "Known names: a, b."
    assert suggest_names("xyz", []) == "No name is known here."


nested = st.recursive(
    st.integers(0, 9),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), nested, min_size=1, max_size=3), st.booleans())
def test_every_place_is_where_its_value_is_written(data: dict[str, object], flow: bool) -> None:
    """The text at the place of a key begins with the key, that of an item with the item."""
    text = yaml.safe_dump(data, default_flow_style=flow, width=60)
    source = parse_yaml(text, HERE)
    lines = text.split("\n")
    for keys, place in source.places.items():
        assert place.text == lines[place.line - 1]
        value: object = data
        for key in keys:
            value = value[key]  # type: ignore[index]
        here = place.text[place.column - 1 :]
        if keys and isinstance(keys[-1], str):
            assert here.startswith(f"{keys[-1]}:")
        elif keys and isinstance(value, int):
            assert here.startswith(str(value))
    assert source.find_place(("absent", 3)) == source.places[()]


@for_each("column", [1, 40, 60, 300])
def test_a_snippet_marks_the_column(column: int) -> None:
    line = "".join("0123456789"[n % 10] for n in range(400))
    text, mark = YamlPlace(HERE, 1, column, line).snippet().split("\n")
    assert text[mark.index("^")] == line[column - 1]
    assert len(text) <= 104


@for_each("end", ["\n", "\r\n", "\r", "\u2028"])
def test_lines_are_counted_as_the_parser_counts_them(end: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_yaml(f"a: 1{end}b: 2{end}a: 3", HERE)
    assert caught.value.where == "e.yaml:3:1"


@for_each("bits", [62, 63, 64])
def test_numbers_fit_into_sixty_four_bits(bits: int) -> None:
    number = 2**bits - 1
    if bits <= 63:
        assert parse_yaml(f"a: -{number}", HERE).data == {"a": -number}
    else:
        with pytest.raises(UsageError, match="too large"):
            parse_yaml(f"a: {number}", HERE)


def test_files_that_cannot_be_read_are_one_message(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"a: \xff\n")
    for name in ("bad.yaml", "absent.yaml", "."):
        with pytest.raises(UsageError, match="cannot read the file"):
            read_yaml(tmp_path / name)


@for_each(("depth", "refused"), [(39, False), (41, True)])
def test_values_are_nested_forty_deep_at_most(depth: int, refused: bool) -> None:
    text = "[" * depth + "1" + "]" * depth
    if refused:
        with pytest.raises(UsageError, match="nested too deeply"):
            parse_yaml(text, HERE)
    else:
        assert parse_yaml(text, HERE).data is not None


@given(st.lists(st.text("abc", min_size=1), max_size=9), st.integers(1, 9))
def test_a_list_ends_with_an_ellipsis_if_names_are_left_out(names: list[str], most: int) -> None:
    *shown, last = list_first(names, most).split(", ")
    assert (
        [*shown, last] == [*names[:most], "..."] if len(names) > most else [*shown, last] == (names or [""])
    )
