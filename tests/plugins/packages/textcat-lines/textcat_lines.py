"""A collection in one file: each line has a split, labels and text, separated by tabs; spaces separate labels."""

from hashlib import sha256
from pathlib import Path

from textcat.corpora import Document


class Lines:
    name = "lines"

    def __init__(self, path: Path, *, split=None, encoding="utf-8"):
        self.path, self.encoding = path, encoding

    def documents(self):
        with self.path.open(encoding=self.encoding) as lines:
            for number, line in enumerate(lines, 1):
                side, labels, text = line.rstrip("\n").split("\t")
                yield Document(f"line {number}", {"text": text}, tuple(labels.split()), side)

    @property
    def categories(self):
        return tuple(sorted({label for document in self.documents() for label in document.labels}))

    def fingerprint(self):
        return sha256(self.path.read_bytes()).hexdigest()
