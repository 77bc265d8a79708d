"""Settings of groups of terms: which n-grams are counted, and how each group is pruned, weighted and scaled."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from itertools import combinations
from typing import Literal

from pydantic import Field, model_validator

from textcat.settings import GrowingSettings
from textcat.text.weighting import NormName, WeightingName

Analyzer = Literal["word", "char_wb", "char"]
LONGEST = {"word": 5, "char_wb": 8, "char": 8}
# The keys of a group that decide what is counted; the others decide how counts become vectors.
COUNTING_KEYS = frozenset({"analyzer", "ngrams", "minimum_documents", "bits"})


class TermGroup(GrowingSettings):
    """A group of n-grams that are features together with those of other groups."""

    later = ("weighting", "norm", "bits")

    analyzer: Analyzer = Field(
        "word",
        description="What n-grams are made of: words (after stop list and stemming), or characters of the text "
        "within words with a space at both ends (char_wb) or across words (char).",
    )
    ngrams: tuple[int, int] = Field(
        (1, 1), description="Shortest and longest n-gram: words up to 5, characters up to 8."
    )
    minimum_documents: int = Field(
        1, ge=1, description="Leave out terms that occur in fewer documents than this."
    )
    maximum_share: float = Field(
        1.0, gt=0, le=1, description="Leave out terms that occur in a larger share of the training documents."
    )
    weighting: WeightingName | None = Field(
        None, description="The weighting of this group; default: `vector.weighting`."
    )
    norm: NormName | None = Field(
        None, description="The norm of this group's part of a document; default: that of `vector`."
    )
    weight: float = Field(1.0, gt=0, description="Factor of this group's part of a document, after scaling.")

    bits: int | None = Field(
        None,
        ge=8,
        le=24,
        description="Feature hashing: n-grams share 2 to the power of this many features, by the CRC-32 of their "
        "UTF-8 bytes; minimum_documents and maximum_share are those of features. Default: a feature for each n-gram.",
    )

    @model_validator(mode="after")
    def _check_lengths(self) -> TermGroup:
        shortest, longest = self.ngrams
        if not 1 <= shortest <= longest <= LONGEST[self.analyzer]:
            raise ValueError(
                f"ngrams of {self.analyzer} are [shortest, longest] from 1 to {LONGEST[self.analyzer]}, "
                f"not [{shortest}, {longest}]"
            )
        return self

    @property
    def prefix(self) -> str:
        """The prefix of the names of the terms: words have none."""
        return "" if self.analyzer == "word" else f"{self.analyzer}:"

    def name_term(self, ngram: str) -> str:
        """Return the term of an n-gram that has its prefixes: itself, or its feature if the group is hashed.

        The numbers of features have equal lengths, so that their order is that of the names.
        """
        if self.bits is None:
            return ngram
        feature = zlib.crc32(ngram.encode("utf-8", "surrogatepass")) & ((1 << self.bits) - 1)
        return f"{self.analyzer}{self.ngrams[0]}-{self.ngrams[1]}#{feature:0{-(-self.bits // 4)}x}"


def check_groups_differ(groups: Sequence[TermGroup]) -> None:
    """Refuse groups that share n-grams."""
    for (i, one), (j, other) in combinations(enumerate(groups, start=1), 2):
        overlap = one.ngrams[0] <= other.ngrams[1] and other.ngrams[0] <= one.ngrams[1]
        if one.analyzer == other.analyzer and overlap:
            raise ValueError(f"groups {i} and {j} both contain n-grams of {one.analyzer} of the same length")
