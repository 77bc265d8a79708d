"""20 Newsgroups: the original 19,997 messages with their headers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from textcat.corpora.collection_files import TreeCorpus
from textcat.corpora.document import Document

# Lines of a message's header that name its group, alone or among others.
GROUP_LINES = ("newsgroups", "xref", "path")


class Newsgroups(TreeCorpus):
    """One document for each message, labelled with its group; all are training documents."""

    name = "20newsgroups"

    def __init__(self, folder: Path, *, headers: str = "dropped") -> None:
        super().__init__(folder)
        self.headers = headers

    @cached_property
    def messages(self) -> list[str]:
        """GROUP/NUMBER of each message, sorted as text."""
        return [name for name in self.tree.names if name.count("/") == 1]

    def documents(self) -> Iterator[Document]:
        """Yield the messages; the body begins after the first blank line."""
        for name, message in zip(self.messages, self.tree.texts(self.messages), strict=True):
            header, _, body = message.partition("\n\n")
            fields = {}
            if self.headers == "subject":
                fields["subject"] = parse_subject(header)
            elif self.headers != "dropped":
                fields["headers"] = header if self.headers == "kept" else remove_group_lines(header)
            yield Document(name, {**fields, "body": body}, (parse_group(name),), "train")

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The groups, in alphabetical order."""
        return tuple(sorted({parse_group(name) for name in self.messages}))


def parse_group(name: str) -> str:
    """Return the group in a message's path."""
    return name.partition("/")[0]


def remove_group_lines(header: str) -> str:
    """Return a message's header without the lines that name its group, and without their continuations."""
    kept: list[str] = []
    dropping = False
    for line in header.splitlines():
        if not line[:1].isspace():
            dropping = line.partition(":")[0].lower() in GROUP_LINES
        if not dropping:
            kept.append(line)
    return "\n".join(kept)


def parse_subject(header: str) -> str:
    """Return the subject in a message's header."""
    for line in header.splitlines():
        name, _, value = line.partition(":")
        if name.lower() == "subject":
            return value.strip()
    return ""


def count_newsgroups(folder: Path) -> dict[str, int]:
    """Return the counts to compare with the collection's card."""
    corpus = Newsgroups(folder)
    return {
        "documents": len(corpus.messages),
        "groups": len(corpus.categories),
        "soc.religion.christian": sum(
            parse_group(name) == "soc.religion.christian" for name in corpus.messages
        ),
    }
