"""A small collection of made documents in three categories, as a user might have it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

WORDS = {
    "grain": ["wheat", "corn", "harvest", "bushels", "tonnes"],
    "money": ["bank", "rate", "dollar", "yen", "treasury"],
    "ships": ["port", "vessel", "cargo", "strike", "tanker"],
}
COMMON = ["the", "of", "said", "market", "year", "in", "to", "company"]

EXPERIMENT = """title: A small trial
corpus:
  name: jsonl
  path: documents.jsonl
  options: {text: [title, body], label: labels, side: side}
text: {fields: [title, body], separate_fields: [title]}
vector: {minimum_documents: 2}
selection: {features: 30}
threshold: {rule: tuned}
runs:
  least_squares: {learner: CLS}
  logistic: {learner: CLG, selection: {features: 10}}
  bayes: {learner: naive_bayes}
  svm: {learner: smo, parameters: {lam: 0.001}}
"""


def write_small_collection(folder: Path, documents: int = 240, seed: int = 7) -> Path:
    """documents.jsonl and trial.yaml in a folder; the path of the experiment."""
    generator = np.random.default_rng(seed)
    with (folder / "documents.jsonl").open("w") as stream:
        for number in range(documents):
            labels = [name for name in WORDS if generator.random() < 0.4]
            topical = [str(w) for name in labels for w in generator.choice(WORDS[name], 3)]
            noise = [str(w) for w in generator.choice(COMMON, 8)]
            body = " ".join(generator.permutation(topical + noise))
            side = "train" if number % 3 else "test"
            record = {"id": f"d{number}", "title": " ".join(topical[:2]), "body": body}
            stream.write(json.dumps(record | {"labels": labels, "side": side}) + "\n")
    experiment = folder / "trial.yaml"
    experiment.write_text(EXPERIMENT)
    return experiment
