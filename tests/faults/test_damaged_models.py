"""A model directory with any changed bit, or with numbers that are not numbers, is refused."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.loops import for_each
from tests.serving.small_model import platt, small_model
from textcat.cli.main import group
from textcat.errors import BadDataError
from textcat.serving.categorizer import Categorizer, read_categorizer, write_categorizer
from textcat.serving.document_files import NewDocument
from textcat.serving.export import replace_model
from textcat.serving.model_folders import CHECKSUMS, write_checksums
from textcat.serving.predict import predict_lines

GOLDEN = Path(__file__).resolve().parents[1] / "serving" / "golden" / "model"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    write_categorizer(tmp_path / "model", small_model(calibration=platt()))
    return tmp_path / "model"


def test_every_flipped_bit_is_noticed(model: Path) -> None:
    draw = random.Random(18)
    paths = sorted(model.iterdir())
    accepted = []
    for _ in range(200):
        path = draw.choice(paths)
        sound = path.read_bytes()
        damaged = bytearray(sound)
        position = draw.randrange(len(damaged))
        damaged[position] ^= 1 << draw.randrange(8)
        path.write_bytes(bytes(damaged))
        try:
            read_categorizer(model)
        except BadDataError as error:
            assert str(model) in str(error)
        else:
            accepted.append((path.name, position))
        path.write_bytes(sound)
    assert accepted == []
    read_categorizer(model)


@pytest.mark.parametrize("name", ["model.coef.npy", "vectorizer.json", CHECKSUMS])
def test_a_missing_file_is_named(model: Path, name: str) -> None:
    (model / name).unlink()
    with pytest.raises(BadDataError, match="missing") as caught:
        read_categorizer(model)
    assert name in str(caught.value)


@for_each("content", ["", "abc\n", "0" * 64 + "  ../categorizer.json\n", "0" * 64 + "  a\n"])
def test_a_damaged_list_of_checksums_is_refused(model: Path, content: str) -> None:
    (model / CHECKSUMS).write_text(content)
    with pytest.raises(BadDataError, match="not a list of checksums"):
        read_categorizer(model)


def test_files_of_the_user_beside_the_model_are_ignored(model: Path) -> None:
    (model / "NOTES").write_text("trained on Monday")
    read_categorizer(model)


def test_sha256sum_reads_the_list(model: Path) -> None:
    if shutil.which("sha256sum") is None:
        pytest.skip("sha256sum is not installed")
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", CHECKSUMS], cwd=model, check=True)


def test_models_without_checksums_are_read_without_a_message(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shutil.copytree(GOLDEN, tmp_path / "old")
    facts = json.loads((tmp_path / "old" / "categorizer.json").read_text())
    facts.pop("checksums", None)
    (tmp_path / "old" / "categorizer.json").write_text(json.dumps(facts))
    (tmp_path / "old" / CHECKSUMS).unlink(missing_ok=True)
    assert read_categorizer(tmp_path / "old").categories
    assert caplog.text == ""


@pytest.mark.parametrize("name", ["model.coef", "model.intercept", "thresholds", "priors"])
@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(model: Path, name: str, number: float) -> None:
    values = np.load(model / f"{name}.npy")
    values.flat[0] = number
    np.save(model / f"{name}.npy", values)
    write_checksums(model)
    if name == "thresholds" and np.isinf(number):
        read_categorizer(model)
        return
    with pytest.raises(BadDataError, match="NaN or infinite"):
        read_categorizer(model)


@pytest.mark.parametrize("every", [False, True])
def test_scores_that_overflow_are_null_in_json(every: bool) -> None:
    huge = small_model()
    huge.model.coef[:] = 1.7e308
    documents = [NewDocument("1", {"title": "", "body": "corn port rate vessel wheat"})]
    answer = json.loads(
        next(predict_lines(huge, documents, every_category=every)), parse_constant=_refuse_constant
    )
    assert None in answer["scores"].values()


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"JSON with {name}")


def test_explain_writes_no_nan(tmp_path: Path) -> None:
    huge = small_model()
    huge.model.coef[:] = 1.7e308
    write_categorizer(tmp_path / "model", huge)
    (tmp_path / "story.txt").write_text("corn port rate vessel wheat")
    result = CliRunner().invoke(
        group, ["explain", str(tmp_path / "model"), str(tmp_path / "story.txt"), "-c", "grain", "--json"]
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout, parse_constant=_refuse_constant)[0]["score"] is None


def test_a_model_replaced_at_any_read_is_one_of_the_two(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = read_categorizer(model)
    other = replace(
        one,
        categories=one.categories[::-1],
        model=replace(one.model, coef=-one.model.coef),
        decision_rule=replace(one.decision_rule, thresholds=one.decision_rule.thresholds + 1),
    )
    plain, reads = Path.open, 0

    def replace_before(number: int) -> None:
        def opened(path: Path, *arguments: object, **options: object) -> object:
            nonlocal reads
            if model in path.parents:
                reads += 1
                if reads == number:
                    monkeypatch.setattr(Path, "open", plain)
                    replace_model(model, other)
            return plain(path, *arguments, **options)

        monkeypatch.setattr(Path, "open", opened)

    def facts(found: Categorizer) -> tuple[object, ...]:
        return found.categories, found.model.coef.tolist(), found.decision_rule.thresholds.tolist()

    seen = []
    while reads >= len(seen):
        reads = 0
        replace_model(model, one)
        replace_before(len(seen) + 1)
        found = facts(read_categorizer(model))
        monkeypatch.setattr(Path, "open", plain)
        assert found in (facts(one), facts(other)), f"mixed if replaced before read {len(seen) + 1}"
        seen.append(found == facts(one))
    # The last time it was read to the end before.
    assert len(seen) > 10
    assert not seen[0]
    assert seen[-1]
