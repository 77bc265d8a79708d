"""The table of learners: parameters, their defaults and conflicts, and the settings of named combinations."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, ValidationError

from textcat.experiment.spec.schema import METHODS, list_methods, make_experiment_schema
from textcat.learners.parameters import LEARNERS, LinearParameters, validate_parameters
from textcat.linear import load_named_learners
from textcat.selection import SelectionSettings
from textcat.settings import GrowingSettings, describe_keys
from textcat.text import TextSettings, VectorSettings
from textcat.thresholds.rules import ThresholdSettings
from textcat.yaml_reader import read_packaged_yaml


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_has_defaults_that_are_described_and_survive_json(name: str) -> None:
    found = validate_parameters(name, {})
    model = LEARNERS[name].parameters
    assert isinstance(found, model)
    assert LEARNERS[name].title
    assert describe_keys(model).keys() == model.model_fields.keys()
    assert model.model_validate_json(found.model_dump_json()) == found
    with pytest.raises(ValidationError, match="Extra inputs"):
        validate_parameters(name, {"lamda": 1.0})


@pytest.mark.parametrize("name", LEARNERS)
def test_positive_parameters_refuse_zero(name: str) -> None:
    model = LEARNERS[name].parameters
    for key, schema in model.model_json_schema()["properties"].items():
        kinds = schema.get("anyOf", [schema])
        for bound, wrong in (("exclusiveMinimum", 0), ("minimum", -1)):
            if any(bound in kind for kind in kinds):
                limit = next(kind[bound] for kind in kinds if bound in kind)
                with pytest.raises(ValidationError):
                    validate_parameters(name, {key: limit if bound == "exclusiveMinimum" else limit - 1})
                assert wrong <= limit


def test_an_unknown_learner_has_a_suggestion() -> None:
    with pytest.raises(KeyError, match="Did you mean naive_bayes"):
        validate_parameters("naive_baye", {})


STRENGTHS = {"lam": 0.1, "cost": 1.0, "variance": 2.0, "rate": 3.0}


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(STRENGTHS, 2)))
def test_the_strength_of_a_prior_is_given_once(one: str, other: str) -> None:
    for name in (one, other):
        assert getattr(LinearParameters(**{name: STRENGTHS[name]}), name) == STRENGTHS[name]
    with pytest.raises(ValidationError, match=f"{one} and {other} set the same value"):
        LinearParameters(**{name: STRENGTHS[name] for name in (one, other)})


@pytest.mark.parametrize("prune", [0.0, 0.02])
def test_pruning_is_in_a_recipe_only_if_weights_are_dropped(prune: float) -> None:
    dumped = LinearParameters(prune=prune).model_dump(mode="json")
    assert dumped.get("prune") == (prune or None)
    assert LinearParameters.model_validate(dumped).prune == prune


def test_named_combinations_have_the_settings_of_their_file() -> None:
    """`textcat.linear` and the table of learners read the same file."""
    table = read_packaged_yaml("linear/learners.yaml")
    for name, learner in load_named_learners().items():
        entry = LEARNERS[name]
        assert entry.settings == learner["settings"] == table[name]["settings"]
        assert entry.parameters is LinearParameters
        assert entry.version == table[name].get("version", 2)
        for word in (
            learner["paper"],
            learner["where"],
            *(str(learner["settings"][key]) for key in ("loss", "prior")),
        ):
            assert word in entry.title
    assert LEARNERS["linear"].settings == {}


def test_the_schema_has_the_parameters_of_every_learner() -> None:
    schema = make_experiment_schema()
    run = schema["$defs"]["RunSettings"]
    assert run["properties"]["learner"]["enum"] == sorted(LEARNERS)
    by_learner = {each["if"]["properties"]["learner"]["const"]: each["then"] for each in run["allOf"]}
    for name, entry in LEARNERS.items():
        reference = by_learner[name]["properties"]["parameters"]["$ref"]
        definition: dict[str, Any] = schema["$defs"][reference.rpartition("/")[2]]
        assert set(definition["properties"]) == set(entry.parameters.model_fields)
        assert "required" not in definition
    assert "required" not in schema


def test_methods_of_every_kind_are_listed_with_a_line_each() -> None:
    found = list(list_methods())
    assert {method["kind"] for method in found} == set(METHODS)
    for method in found:
        assert method["what"]
        assert "\n" not in method["what"]
    assert len({(method["kind"], method["name"]) for method in found}) == len(found)


def test_every_learner_is_covered_by_a_citation_and_a_page() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    assert all(f"- `{name}`: {entry.title}" in page for name, entry in LEARNERS.items())


@pytest.mark.parametrize(
    "chosen",
    [
        validate_parameters("linear", {}),
        TextSettings(),
        VectorSettings(),
        SelectionSettings(),
        ThresholdSettings(),
    ],
)
def test_settings_cannot_be_changed_and_have_no_other_keys(chosen: Any) -> None:
    """They are part of the keys of artifacts."""
    name = next(iter(type(chosen).model_fields))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(chosen, name, getattr(chosen, name))
    with pytest.raises(ValidationError, match="Extra inputs"):
        type(chosen).model_validate({"no_such_key": 1})


def test_later_keys_are_stored_only_where_they_are_set() -> None:
    """The default of a key that was added later leaves the keys of older artifacts as they were."""

    class Own(GrowingSettings):
        later = ("new", "names")
        old: int = 1
        new: float = 0.5
        names: list[str] = Field(default_factory=list)

    assert Own().model_dump() == {"old": 1}
    assert Own(old=1, new=0.5, names=[]).model_dump(mode="json") == {"old": 1}
    assert Own(new=0.25).model_dump() == {"old": 1, "new": 0.25}
    assert Own(names=["x"]).model_dump() == {"old": 1, "names": ["x"]}
    assert Own.model_validate_json(Own(new=2).model_dump_json()) == Own(new=2)
