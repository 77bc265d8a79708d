"""`textcat copy` writes one complete file: the same experiment under its own name, compared with the same paper."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.experiment.place import Place
from textcat.errors import UsageError
from textcat.experiment.run.reading_plan import load_under_reading
from textcat.experiment.spec.config_files import find_experiment_files
from textcat.experiment.spec.loading import load_experiment
from textcat.published.printed_tables import find_varied_experiment

OWN = {"name", "variant_of", "corpus"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("name", list(find_experiment_files())[::10])
def test_a_copy_has_every_setting_of_its_experiment(name: str, place: Place) -> None:
    mine = place.folder / "mine.yaml"
    place.textcat("copy", name, str(mine))
    copied, original = load_experiment(mine), load_experiment(name)
    assert copied.model_dump(exclude=OWN) == original.model_dump(exclude=OWN)
    assert (copied.name, copied.corpus) == ("mine", original.corpus)
    assert "extends" not in yaml.safe_load(mine.read_text())


def test_a_copy_is_compared_with_the_numbers_of_its_paper(place: Place) -> None:
    first, second = place.folder / "mine.yaml", place.folder / "again.yaml"
    assert "printed for reuters_modapte" in place.textcat("copy", "reuters_modapte", str(first))
    place.textcat("copy", str(first), str(second))
    for path in (first, second):
        copied = load_experiment(path)
        assert find_varied_experiment(copied.name, copied.extended, copied.tables) == "reuters_modapte"
    second.write_text(
        second.read_text().replace("variant_of: reuters_modapte", "variant_of: reuters_modpate")
    )
    with pytest.raises(UsageError, match="no experiment 'reuters_modpate'") as caught:
        load_experiment(second)
    assert "Did you mean reuters_modapte" in caught.value.hint


def test_a_copy_can_have_another_reading(place: Place) -> None:
    mine, reading = place.folder / "mine.yaml", "stop_list=smart,rare_words=documents"
    place.textcat("copy", "zhang_2000/table1", str(mine), "--reading", reading)
    expected = load_under_reading("zhang_2000/table1", reading)
    assert expected.text.stop_list == "smart"
    assert load_experiment(mine).model_dump(exclude=OWN) == expected.model_dump(exclude=OWN)


def test_a_copy_in_another_folder_finds_the_documents_and_the_cache(place: Place) -> None:
    place.textcat("run", str(place.experiment))
    (place.folder / "sub").mkdir()
    mine = place.folder / "sub" / "mine.yaml"
    place.textcat("copy", str(place.experiment), str(mine))
    assert "to do" not in place.textcat("run", str(mine), "--dry-run")
    mine.write_text(mine.read_text().replace("lam: 0.001", "lam: 0.01"))
    todo = [line for line in place.textcat("run", str(mine), "--dry-run").splitlines() if "to do" in line]
    assert {line.split(": to do: ")[1] for line in todo} == {"parameters.lam differs from the cache"}
    place.textcat("run", str(mine))
    assert (place.results / "mine" / "table.md").is_file()


def test_a_copy_replaces_no_file_and_takes_no_name(place: Place) -> None:
    with pytest.raises(UsageError, match="File exists"):
        place.textcat("copy", "reuters_modapte", str(place.experiment))
    with pytest.raises(UsageError, match="there is an experiment 'reuters_modapte' already"):
        place.textcat("copy", "reuters_modapte", str(place.folder / "reuters_modapte.yaml"))
