"""Faults in experiment files are one message with file, line, column and the line itself."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from textcat.errors import UsageError
from textcat.experiment.spec.loading import read_experiment_source
from textcat.yaml_reader import parse_yaml_source

HERE = Path("e.yaml")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "e.yaml:3:1", "'a' stands here twice"),
        ("a:\n  b: 1\n  b: 2\n", "e.yaml:3:3", "'b' stands here twice"),
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
        parse_yaml_source(text, HERE)
    assert str(caught.value).startswith(place)
    assert "^" in str(caught.value)


def test_aliases_that_multiply_are_refused_at_once() -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    with pytest.raises(UsageError, match="too many values"):
        parse_yaml_source(f"a0: &a0 [x]\n{layers}", HERE)


def test_long_lines_are_shown_in_part() -> None:
    with pytest.raises(UsageError) as caught:
        parse_yaml_source(f"a: [{'1, ' * 1000}.nan]\n", HERE)
    assert max(map(len, str(caught.value).splitlines())) <= 104


def test_a_file_of_another_kind_is_refused_for_its_size(tmp_path: Path) -> None:
    (tmp_path / "big.yaml").write_text("# " + "x" * 1_000_000)
    with pytest.raises(UsageError, match="longer than"):
        read_experiment_source(tmp_path / "big.yaml")


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
    assert parse_yaml_source(text, HERE).data == yaml.safe_load(text)


@given(st.text(max_size=60))
def test_any_text_is_data_or_one_message(text: str) -> None:
    try:
        parse_yaml_source(text, HERE)
    except UsageError as error:
        assert "e.yaml" in str(error)


def test_extends_merges_mappings_and_replaces_the_rest(tmp_path: Path) -> None:
    (tmp_path / "below.yaml").write_text("a: {x: 1, y: 2}\nb: [1, 2]\nc: 3\n")
    (tmp_path / "above.yaml").write_text("extends: below.yaml\na: {y: 5}\nb: [9]\nc: null\n")
    source = read_experiment_source(tmp_path / "above.yaml")
    assert source.data == {"a": {"x": 1, "y": 5}, "b": [9]}
    assert source.places[("a", "x")].file.name == "below.yaml"
    assert source.places[("a", "y")].file.name == "above.yaml"


def test_extending_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("extends: two.yaml\n")
    (tmp_path / "two.yaml").write_text("extends: one.yaml\n")
    with pytest.raises(UsageError, match="circle"):
        read_experiment_source(tmp_path / "one.yaml")


def test_extending_what_is_not_there_points_at_the_line(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("a: 1\nextends: none.yaml\n")
    with pytest.raises(UsageError, match="no file"):
        read_experiment_source(tmp_path / "one.yaml")
