"""Binary words and topics of the first categorized Reuters stories, read in the plainest way."""

from __future__ import annotations

import re
import tarfile
from itertools import islice
from pathlib import Path

import numpy as np
import scipy.sparse as sp

STORY = re.compile(r'TOPICS="YES".*?<TOPICS>(.*?)</TOPICS>.*?<TEXT(.*?)</TEXT>', re.DOTALL)


def marked_up(archive: Path):
    with tarfile.open(archive) as files:
        for name in sorted(name for name in files.getnames() if name.endswith(".sgm")):
            text = files.extractfile(name).read().decode("latin-1")
            for story in text.split("</REUTERS>"):
                found = STORY.search(story)
                if found:
                    yield found[1], found[2]


def stories(archive: Path):
    for topics, text in marked_up(archive):
        yield re.findall("<D>(.*?)</D>", topics), set(re.findall("[a-z]+", text.lower()))


def raw_stories(mirror: Path):
    """The texts with their markup, as they stand in the files."""
    return (text for _, text in marked_up(mirror / "reuters21578.tar.gz"))


def binary_words(mirror: Path, topics: list[str], count: int = 1500):
    """A CSR matrix of words that at least 3 stories hold, and the labels of the given topics."""
    read = list(islice(stories(mirror / "reuters21578.tar.gz"), count))
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(word, len(numbers)) for word in sorted(words)] for _, words in read]
    indptr = np.cumsum([0, *map(len, rows)])
    matrix = sp.csr_matrix((np.ones(indptr[-1]), np.concatenate(rows), indptr), shape=(count, len(numbers)))
    matrix = matrix[:, np.asarray(matrix.sum(axis=0)).ravel() >= 3]
    return matrix, np.array([[topic in labels for topic in topics] for labels, _ in read])
