"""Learners of one category per document, trained by an experiment."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from tests.experiment.place import Place
from tests.experiment.small import COMMON, WORDS

EXPERIMENT = """title: One category for each document
corpus: {name: csv, path: one.csv, single_label: true, options: {side: side}}
text: {fields: [text]}
runs:
  softmax: {learner: softmax}
  mmlr: {learner: mmlr_cg, parameters: {steps: 40}}
"""


def write_documents(path: Path) -> None:
    generator = np.random.default_rng(3)
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["text", "label", "side"])
        for number in range(150):
            label = list(WORDS)[number % 3]
            words = [*generator.choice(WORDS[label], 2), *generator.choice(COMMON, 6)]
            rows.writerow([" ".join(words), label, "train" if number % 2 else "test"])


def test_every_learner_of_one_category_learns_the_topics(tmp_path: Path) -> None:
    place = Place(tmp_path)
    write_documents(tmp_path / "one.csv")
    experiment = tmp_path / "one.yaml"
    experiment.write_text(EXPERIMENT)
    place.textcat("run", str(experiment))
    results = json.loads((place.results / "one" / "results.json").read_text())
    for name in ("softmax", "mmlr"):
        assert results["runs"][name]["measures"]["accuracy"] > 90, name
