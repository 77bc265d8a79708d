"""Settings of the step from the fields of documents to counts of terms, and the cleaning of characters.

Accents: the compatibility decomposition of Unicode (NFKD) without combining marks, as `strip_accents="unicode"` of
scikit-learn. Digits: those of any script (Unicode category Nd). A group of terms is a set of n-grams that are counted,
pruned, weighted and scaled together.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from textcat.settings import GrowingSettings, KnownName
from textcat.text.tokenizers import TOKENIZERS
from textcat.text.weighting import NormName, WeightingName

StemmerName = Literal["none", "porter_original", "porter_martin", "porter_extensions", "porter_lemur"]
DigitHandling = Literal["keep", "drop", "hash"]
TextCleaner = Callable[[str], str]


Analyzer = Literal["word", "char_wb", "char"]
LONGEST = {"word": 5, "char_wb": 8, "char": 8}
# The keys of a group that decide what is counted; the others decide how counts become vectors.
COUNTING_KEYS = frozenset({"analyzer", "ngrams", "first_words", "minimum_documents", "bits", "fields"})
# The name, in `TermGroup.fields`, of the fields that are not separate.
MERGED = "merged"


class TermGroup(GrowingSettings):
    """A group of n-grams that are features together with those of other groups."""

    later = ("weighting", "norm", "bits", "fields", "first_words")

    analyzer: Analyzer = Field(
        default="word",
        description="What n-grams are made of: words (after stop list and stemming), or characters of the "
        "text within words with a space at both ends (char_wb) or across words (char).",
    )
    ngrams: tuple[int, int] = Field(
        default=(1, 1), description="Shortest and longest n-gram: words up to 5, characters up to 8."
    )
    first_words: int | None = Field(
        default=None,
        ge=1,
        description="Count only this many words at the beginning of the text, such as its headline, as "
        "features of their own: words that are left after the stop list, or of characters those "
        "between white space. Several fields are one text, in the order of `fields`; for separate "
        "ones the count begins again in each. Default: the whole text.",
    )
    minimum_documents: int = Field(
        default=1, ge=1, description="Leave out terms that occur in fewer documents than this."
    )
    maximum_share: float = Field(
        default=1.0,
        gt=0,
        le=1,
        description="Leave out terms that occur in a larger share of the training documents.",
    )
    weighting: WeightingName | None = Field(
        default=None, description="The weighting of this group; default: `vector.weighting`."
    )
    norm: NormName | None = Field(
        default=None, description="The norm of this group's part of a document; default: that of `vector`."
    )
    weight: float = Field(
        default=1.0, gt=0, description="Factor of this group's part of a document, after scaling."
    )

    bits: int | None = Field(
        default=None,
        ge=8,
        le=24,
        description="Feature hashing: n-grams share 2 to the power of this many features, by the CRC-32 of "
        "their UTF-8 bytes; minimum_documents and maximum_share are those of features. Default: a "
        "feature for each n-gram.",
    )

    fields: tuple[str, ...] = Field(
        default=(),
        description="Count only the text of these `text.separate_fields`, or of the other fields: `merged`; "
        "default: of all fields.",
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
        """The prefix of the names of the terms: words of the whole text have none."""
        part = f"first {self.first_words}:" if self.first_words else ""
        return part if self.analyzer == "word" else f"{part}{self.analyzer}:"

    def counts_field(self, prefix: str) -> bool:
        """Return whether the group counts the fields whose terms have this prefix."""
        return not self.fields or (prefix.removesuffix(":") or MERGED) in self.fields

    def shares_ngrams(self, other: TermGroup) -> bool:
        """Return whether a feature may belong to both groups; hashed features do not name their field."""
        lengths = self.ngrams[0] <= other.ngrams[1] and other.ngrams[0] <= self.ngrams[1]
        apart = self.fields and other.fields and set(self.fields).isdisjoint(other.fields)
        fields = not apart or self.bits or other.bits
        same = self.analyzer == other.analyzer and self.first_words == other.first_words
        return same and lengths and bool(fields)

    def name_term(self, ngram: str) -> str:
        """Return the term of an n-gram that has its prefixes: itself, or its feature if the group is hashed.

        The numbers of features have equal lengths, so that their order is that of the names.
        """
        if self.bits is None:
            return ngram
        feature = zlib.crc32(ngram.encode("utf-8", "surrogatepass")) & ((1 << self.bits) - 1)
        part = f"first {self.first_words}:" if self.first_words else ""
        return f"{part}{self.analyzer}{self.ngrams[0]}-{self.ngrams[1]}#{feature:0{-(-self.bits // 4)}x}"


def check_groups_differ(groups: Sequence[TermGroup]) -> None:
    """Refuse groups that share n-grams."""
    for (i, one), (j, other) in combinations(enumerate(groups, start=1), 2):
        if one.shares_ngrams(other):
            raise ValueError(f"groups {i} and {j} both contain n-grams of {one.analyzer} of the same length")


# What takes the place of a digit.
_REPLACEMENTS = {"drop": " ", "hash": "0"}
_DIGIT = re.compile(r"\d")


def make_cleaner(*, strip_accents: bool, digits: DigitHandling) -> TextCleaner | None:
    """Return the function that cleans a text, or None if nothing changes."""
    if not strip_accents and digits == "keep":
        return None

    def clean(text: str) -> str:
        if strip_accents:
            text = remove_accents(text)
        return text if digits == "keep" else _DIGIT.sub(_REPLACEMENTS[digits], text)

    return clean


def remove_accents(text: str) -> str:
    """Return the text decomposed (NFKD) and without combining marks."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join([letter for letter in decomposed if not unicodedata.combining(letter)])


def clean_with_places(text: str, clean: TextCleaner) -> tuple[str, Sequence[int]]:
    """Return the cleaned text, and for each of its characters the position in the text.

    Letters are cleaned one by one: marks that are removed may change their order, other characters may not.
    """
    cleaned = [clean(letter) for letter in text]
    places = [place for place, letters in enumerate(cleaned) for _ in letters]
    return "".join(cleaned), places


class TextSettings(GrowingSettings):
    """How the fields of a document become counts of terms."""

    later = ("groups", "strip_accents", "digits")

    tokenizer: Annotated[str, KnownName("tokenizer", lambda: TOKENIZERS)] = Field(
        default="alphabetic",
        description="How text is divided into words. The default for your own csv, tsv, jsonl or folders is "
        "unicode.",
    )
    lowercase: bool = Field(default=True, description="Whether words are lowercased.")
    stem: StemmerName = Field(
        default="none", description="Variant of Porter's stemmer that is applied to the words."
    )
    stop_list: str | tuple[str, ...] = Field(
        default="none",
        description="Words to leave out: none, smart, glasgow_318, glasgow_319, the path of a text file with one "
        "word per line, or a list of words.",
    )
    stop_when: Literal["before_stemming", "after_stemming"] = Field(
        default="before_stemming",
        description="before_stemming: words are looked up in the stop list; after_stemming: stems are looked "
        "up among the stems of its words.",
    )
    fields: tuple[str, ...] = Field(
        default=("title", "body"), min_length=1, description="The fields that are used."
    )
    separate_fields: tuple[str, ...] = Field(
        default=(),
        description="Fields whose words are separate features, written field:word; the other fields are "
        "merged.",
    )
    doubled_fields: tuple[str, ...] = Field(
        default=(), description="Separate fields whose words are also counted with the merged fields."
    )
    strip_accents: bool = Field(
        default=False,
        description="Whether accents are removed (Unicode NFKD without combining marks): é is e.",
    )
    digits: DigitHandling = Field(
        default="keep",
        description="Digits: keep; drop (a space in place of each); hash (each is 0, so that numbers of the "
        "same form are one word).",
    )
    groups: tuple[TermGroup, ...] = Field(
        default=(),
        description="Groups of n-grams of words or characters that are features side by side, each weighted "
        "and scaled on its own; default: single words.",
    )

    @model_validator(mode="after")
    def _check_groups(self) -> TextSettings:
        check_groups_differ(self.groups)
        known = {prefix.removesuffix(":") or MERGED for prefix, _ in self.field_groups}
        if unknown := {name for group in self.groups for name in group.fields} - known:
            raise ValueError(
                f"a group counts {', '.join(sorted(unknown))}; it can count {', '.join(sorted(known))}: "
                "name fields in separate_fields to count them apart"
            )
        return self

    @property
    def cleaner(self) -> TextCleaner | None:
        """The function that changes characters before the text is divided, or None."""
        return make_cleaner(strip_accents=self.strip_accents, digits=self.digits)

    def dump_for_counting(self) -> dict[str, Any]:
        """Return what decides the counts of terms as JSON-able data, without how groups are weighted."""
        spelled = self.model_dump(mode="json")
        if self.groups:
            spelled["groups"] = [
                group.model_dump(mode="json", include=set(COUNTING_KEYS)) for group in self.groups
            ]
        return spelled

    @model_validator(mode="after")
    def _check_separate_fields(self) -> TextSettings:
        if repeated := {name for name in self.fields if self.fields.count(name) > 1}:
            raise ValueError(f"fields names {', '.join(sorted(repeated))} twice")
        if unread := set(self.separate_fields) - set(self.fields):
            raise ValueError(f"separate_fields names {', '.join(sorted(unread))}, which fields does not")
        if merged := set(self.doubled_fields) - set(self.separate_fields):
            raise ValueError(
                f"doubled_fields names {', '.join(sorted(merged))}, which separate_fields does not"
            )
        return self

    @property
    def field_groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The groups of fields that share terms, with the prefix of these terms; the merged fields come first."""
        apart = set(self.separate_fields) - set(self.doubled_fields)
        merged = tuple(name for name in self.fields if name not in apart)
        separate = tuple((f"{name}:", (name,)) for name in self.fields if name in self.separate_fields)
        return (("", merged), *separate) if merged else separate
