"""Reading the records of Reuters-21578: on a made file, and both real sources against each other."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from textcat.corpora import fetch_corpus, open_corpus
from textcat.corpora.collections.reuters21578 import (
    Reuters21578,
    load_attributes,
    read_json_records,
    read_sgml_records,
)
from textcat.errors import BadDataError, DataNotAvailableError, UsageError

MADE = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<MKNOTE>a note</MKNOTE>
<TOPICS><D>cocoa</D><D>acq</D><D>cocoa</D></TOPICS>
<PLACES><D>el-salvador</D></PLACES>
<PEOPLE></PEOPLE>
<ORGS><D>icco</D></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<UNKNOWN>
&#5;&#31;reute</UNKNOWN>
<TEXT>&#2;
<TITLE>AT&amp;T &lt;T> AND M\xfcLLER</TITLE>
<AUTHOR>by A. Writer</AUTHOR>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>One&#127;two &amp;lt; three.
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TEST" CGISPLIT="PUBLISHED-TESTSET" CSECS="77" OLDID="5545" NEWID="2">
<DATE> 1-MAR-1987</DATE>
<TOPICS></TOPICS>
<PLACES></PLACES>
<PEOPLE></PEOPLE>
<ORGS></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<TEXT TYPE="UNPROC">&#2;
PLAIN TABLE 1.2
</TEXT>
</REUTERS>
<REUTERS TOPICS="BYPASS" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5546" NEWID="3">
<DATE>2-MAR-1987</DATE>
<TOPICS><D>earn</D></TOPICS>
<PLACES></PLACES>
<PEOPLE></PEOPLE>
<ORGS></ORGS>
<EXCHANGES></EXCHANGES>
<COMPANIES></COMPANIES>
<TEXT TYPE="BRIEF">&#2;
******<TITLE>SHORT
</TITLE>Blah blah blah.
&#3;
</TEXT>
</REUTERS>
"""


@pytest.fixture
def made(tmp_path: Path) -> Path:
    (tmp_path / "reut2-000.sgm").write_bytes(MADE.encode("latin-1"))
    return tmp_path


def test_every_attribute_and_element_is_read(made: Path) -> None:
    first, second, third = read_sgml_records(made / "reut2-000.sgm")
    assert (first.number, first.topics_mark) == (1, "YES")
    assert (first.lewis_split, first.cgi_split, first.text_type) == ("TRAIN", "TRAINING-SET", "NORM")
    assert first.lists == {
        "topics": ("cocoa", "acq", "cocoa"),
        "places": ("el-salvador",),
        "orgs": ("icco",),
    }
    assert first.title == "AT&T <T> AND M\xfcLLER"
    assert first.author == "by A. Writer"
    assert first.dateline == "    SALVADOR, Feb 26 - "
    assert first.body == "One two &lt; three.\n "
    assert (second.text_type, second.outside) == ("UNPROC", "PLAIN TABLE 1.2")
    assert (third.text_type, third.title, third.body) == ("BRIEF", "SHORT\n", "")
    assert third.outside.split() == ["******", "Blah", "blah", "blah."]


@pytest.mark.parametrize(
    ("split", "sides"),
    [
        ("modapte", ["train", "unused", "unused"]),
        ("modlewis", ["train", "test", "unused"]),
        ("modhayes", ["train", "test", "train"]),
    ],
)
def test_each_split_reads_its_own_attributes(made: Path, split: str, sides: list[str]) -> None:
    assert [document.split for document in Reuters21578(made, split=split).documents()] == sides


def test_documents_have_each_label_once_and_unproc_text_as_body(made: Path) -> None:
    first, second, third = Reuters21578(made).documents()
    assert first.labels == ("cocoa", "acq")
    assert second.fields == {"title": "", "author": "", "dateline": "", "body": "PLAIN TABLE 1.2"}
    assert third.fields["body"] == ""
    assert [document.labels for document in Reuters21578(made, labels="places").documents()] == [
        ("el-salvador",),
        (),
        (),
    ]


def test_categories_are_of_used_documents_in_alphabetical_order(made: Path) -> None:
    assert Reuters21578(made).categories == ("acq", "cocoa")
    assert Reuters21578(made, split="modhayes").categories == ("acq", "cocoa", "earn")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"split": "modapt"}, "Choose from modapte, modlewis"), ({"labels": "topic"}, "one of topics, places")],
)
def test_unknown_settings_are_refused(made: Path, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_corpus("reuters21578", made, **wrong)
    with pytest.raises(DataNotAvailableError, match="textcat fetch"):
        Reuters21578(made / "nowhere")


def test_damage_is_located_by_file_and_line(made: Path) -> None:
    path = made / "reut2-000.sgm"
    path.write_text(MADE[: MADE.index("PLAIN TABLE")], encoding="latin-1")
    with pytest.raises(BadDataError, match=r"reut2-000\.sgm:19: a REUTERS record is not closed"):
        list(read_sgml_records(path))
    path.write_text(MADE.replace('LEWISSPLIT="TEST"', ""), encoding="latin-1")
    with pytest.raises(BadDataError, match=r"reut2-000\.sgm:19: .*lacks"):
        list(read_sgml_records(path))
    other = made / "reuters-000.json"
    other.write_text("[")
    with pytest.raises(BadDataError, match="not JSON"):
        list(read_json_records(other))
    other.write_text('[{"id": "21579"}]')
    with pytest.raises(BadDataError, match="21579"):
        list(read_json_records(other))


def test_the_table_of_numbers_agrees_with_the_sgml(reuters_sgml: Path) -> None:
    known = load_attributes()
    for record in Reuters21578(reuters_sgml).records():
        number = record.number
        assert (record.lewis_split, record.cgi_split) == (
            known["LEWISSPLIT"][number],
            known["CGISPLIT"][number],
        )
        assert (record.topics_mark, record.text_type) == (known["TOPICS"][number], known["TYPE"][number])


@pytest.mark.parametrize(
    ("split", "train", "test", "unused"),
    [("modapte", 9603, 3299, 8676), ("modlewis", 13625, 6188, 1765), ("modhayes", 20856, 722, 0)],
)
def test_splits_have_their_documented_sizes(
    reuters_sgml: Path, split: str, train: int, test: int, unused: int
) -> None:
    sides = Counter(document.split for document in Reuters21578(reuters_sgml, split=split).documents())
    assert (sides["train"], sides["test"], sides["unused"]) == (train, test, unused)


def test_both_sources_agree_but_for_unproc_text(reuters_sgml: Path, reuters_json: Path) -> None:
    unproc = {str(record.number) for record in sgml_records_of(reuters_sgml) if record.text_type == "UNPROC"}
    without_text = Counter[str]()
    for ours, theirs in zip(
        Reuters21578(reuters_sgml).documents(), Reuters21578(reuters_json).documents(), strict=True
    ):
        assert (ours.id, ours.labels, ours.split) == (theirs.id, theirs.labels, theirs.split)
        assert words(ours.fields["title"]) == words(theirs.fields["title"])
        if ours.id in unproc:
            assert theirs.fields["body"] == ""
            without_text[ours.split] += 1
        else:
            assert words(ours.fields["body"]) == words(theirs.fields["body"])
    assert without_text == {"train": 54, "test": 14, "unused": 669}


def sgml_records_of(folder: Path):
    return Reuters21578(folder).records()


def words(text: str) -> list[str]:
    return re.findall("[a-z0-9]+", text.lower())


def test_unprocessed_text_is_the_body_or_dropped(mirror: Path, tmp_path: Path) -> None:
    folder = fetch_corpus("reuters21578", tmp_path, mirror=mirror).folder
    kept = {d.id: d for d in open_corpus("reuters21578", folder).documents()}
    dropped = {d.id: d for d in open_corpus("reuters21578", folder, unprocessed="dropped").documents()}
    differing = [i for i in kept if kept[i].fields != dropped[i].fields and kept[i].split != "unused"]
    assert len(differing) == 68
    assert not any(dropped[i].fields["body"] for i in differing)
