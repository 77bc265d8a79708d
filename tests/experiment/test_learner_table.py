"""The table of learners: parameters, their defaults and conflicts, and the settings of named combinations."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pydantic import ValidationError

from tests.loops import for_each
from textcat.experiment.spec.schema import make_experiment_schema
from textcat.learners.parameters import LEARNERS, LinearParameters, validate_parameters
from textcat.linear import load_named_learners
from textcat.settings import describe_keys
from textcat.yaml_reader import read_packaged_yaml


@for_each("name", LEARNERS)
def test_every_learner_has_defaults_that_are_described_and_survive_json(name: str) -> None:
    found = validate_parameters(name, {})
    model = LEARNERS[name].parameters
    assert isinstance(found, model)
    assert LEARNERS[name].title, f"{name} has no title in its row"
    assert describe_keys(model).keys() == model.model_fields.keys(), (
        "describe each parameter beside its field"
    )
    assert model.model_validate_json(found.model_dump_json()) == found
    with pytest.raises(ValidationError, match="Extra inputs"):
        validate_parameters(name, {"lamda": 1.0})


@for_each("name", LEARNERS)
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


@for_each(("one", "other"), list(itertools.combinations(STRENGTHS, 2)))
def test_the_strength_of_a_prior_is_given_once(one: str, other: str) -> None:
    for name in (one, other):
        assert getattr(LinearParameters(**{name: STRENGTHS[name]}), name) == STRENGTHS[name]
    with pytest.raises(ValidationError, match=f"{one} and {other} set the same value"):
        LinearParameters(**{name: STRENGTHS[name] for name in (one, other)})


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
