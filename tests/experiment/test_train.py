"""Every learner of the table can be found; blocks of categories survive a stop and are stored once."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.experiment.own_table import carried_out, results_of
from textcat.experiment.steps import train
from textcat.experiment.steps.learners import find_learner
from textcat.experiment.steps.models import load_model
from textcat.learners.parameters import LEARNERS, LinearParameters, validate_parameters

RUNS = {"runs": {"run": {"learner": "CLG"}}}
ONE_BY_ONE = {"runs": {"run": {"learner": "CLG", "categories_at_once": 1}}}


def test_every_learner_of_the_table_can_be_found_and_says_its_name() -> None:
    for name, entry in LEARNERS.items():
        learner = find_learner(name)
        assert learner.name == name
        assert learner.has_path("lam") == (entry.parameters is LinearParameters)


@pytest.mark.parametrize(("given", "kept"), [([], []), ([8, 2], [2, 4, 8]), ([4, 2], [4, 2])])
def test_a_run_of_a_shared_descent_keeps_its_own_iterations(given: list[int], kept: list[int]) -> None:
    found: Any = validate_parameters("mfom", {"iterations": 4, "checkpoints": given})
    assert found.checkpoints == kept


def test_the_parts_of_a_model_are_the_files_of_its_blocks(tmp_path: Path) -> None:
    plan, context, _ = carried_out(tmp_path, ONE_BY_ONE)
    trained = plan.chains[0].trained.build_folder(context)
    blocks = list((context.data / "cache" / "block").glob("*/model.coef.npy"))
    assert len(blocks) == 4
    stored = {path.stat().st_ino for path in trained.glob("part*.coef.npy")}
    assert stored == {path.stat().st_ino for path in blocks}
    assert not (trained / "model.coef.npy").exists()
    model: Any = load_model(trained)
    parts = [np.load(trained / f"part{number}.coef.npy") for number in range(4)]
    assert np.array_equal(model.coef, np.hstack(parts))


def test_blocks_give_the_same_results_as_all_categories_at_once(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "blocks").mkdir()
    whole = results_of(tmp_path / "whole", RUNS)["runs"]["run"]["measures"]
    assert not (tmp_path / "whole" / "data" / "cache" / "block").exists()
    blocks = results_of(tmp_path / "blocks", ONE_BY_ONE)["runs"]["run"]["measures"]
    assert blocks == pytest.approx(whole, abs=1e-12)


def test_a_stopped_training_continues_after_its_finished_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[int] = []
    train_block = train._train_block

    def stop_at_the_third(inputs: Any, block: Any) -> Any:
        if len(trained) == 2:
            raise KeyboardInterrupt
        trained.append(block[0])
        return train_block(inputs, block)

    monkeypatch.setattr(train, "_train_block", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        carried_out(tmp_path, ONE_BY_ONE)
    monkeypatch.setattr(
        train, "_train_block", lambda inputs, block: trained.append(block[0]) or train_block(inputs, block)
    )
    carried_out(tmp_path, ONE_BY_ONE)
    assert trained == [0, 1, 2, 3]


def test_a_block_that_another_process_stores_meanwhile_does_not_shift_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, context, _ = carried_out(tmp_path, ONE_BY_ONE)
    artifact = plan.chains[0].trained.build_folder(context)
    expected: Any = load_model(artifact)
    shutil.rmtree(artifact)
    blocks = {
        json.loads((folder / "manifest.json").read_text())["recipe"]["parameters"]["first"]: folder
        for folder in (context.data / "cache" / "block").glob("*/")
    }
    for first in (1, 2, 3):
        blocks[first].rename(tmp_path / f"block{first}")
    train_block = train._train_block

    def store_the_third(inputs: Any, block: Any) -> Any:
        if block[0] == 1:
            (tmp_path / "block2").rename(blocks[2])
        return train_block(inputs, block)

    monkeypatch.setattr(train, "_train_block", store_the_third)
    plan, context, _ = carried_out(tmp_path, ONE_BY_ONE)
    again: Any = load_model(plan.chains[0].trained.build_folder(context))
    assert np.array_equal(again.coef, expected.coef)
