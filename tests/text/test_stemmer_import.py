"""The stemmer is imported without the rest of NLTK, and is the one that NLTK gives."""

from __future__ import annotations

import subprocess
import sys

CHECK = """
import sys
from textcat.text.terms import make_stemmer

words = "running heated dies sky relational conditional y is oed".split()
names = ["porter_original", "porter_martin", "porter_extensions", "porter_lemur"]
{before}
ours = [[make_stemmer(name)(word) for word in words] for name in names]
loaded = [name for name in sys.modules if name.startswith(("nltk", "pandas", "sklearn"))]
print(loaded if {light} else [])
from nltk.stem.porter import PorterStemmer
import nltk
assert nltk.__version__
modes = [PorterStemmer.ORIGINAL_ALGORITHM, PorterStemmer.MARTIN_EXTENSIONS, PorterStemmer.NLTK_EXTENSIONS]
theirs = [[PorterStemmer(mode=mode).stem(word, to_lowercase=False) for word in words] for mode in modes]
assert ours[:3] == theirs
"""


def run(before: str, *, light: bool) -> str:
    code = CHECK.format(before=before, light=light)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_else_of_nltk_stays_imported() -> None:
    assert run("", light=True) == "[]"
