"""Formats of collections against plain definitions: markup by its patterns, label files and records written anew."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loops import for_each
from textcat.corpora import open_corpus, open_vectors
from textcat.corpora.cards import load_card
from textcat.corpora.collections.newsgroups20 import (
    GROUP_LINES,
    parse_subject,
    remove_group_lines,
)
from textcat.corpora.collections.ohsumed import read_medline_records
from textcat.corpora.collections.rcv1 import (
    LAST_TRAINING_NUMBER,
    RCV1_LABELS,
    Rcv1Split,
    load_topics,
    read_qrels,
)
from textcat.corpora.collections.reuters21578 import (
    assign_side,
    load_attributes,
    read_json_records,
    read_sgml_records,
    replace_controls,
)
from textcat.corpora.markup import extract_text, extract_title
from textcat.errors import BadDataError

pieces = st.lists(
    st.sampled_from(
        [
            "<!--",
            "-->",
            "<script",
            "</script>",
            "<STYLE>",
            "</style >",
            "<title",
            "</Title>",
            ">",
            "<b>",
            "a",
            " ",
            "&lt;",
            "\n",
        ]
    ),
    max_size=14,
).map("".join)
# What is invisible, by definition; searching for it takes quadratic time.
INVISIBLE = re.compile(
    r"<!--.*?-->|<script\b.*?</script\s*>|<style\b.*?</style\s*>|<title\b[^>]*>.*?</title\s*>",
    re.IGNORECASE | re.DOTALL,
)
TITLE = re.compile(r"<title\b[^>]*>(.*?)(?:</title|<body|<h1|\Z)", re.IGNORECASE | re.DOTALL)
TAG = re.compile(r"</?[a-zA-Z!?][^<>]*>?")


@given(pieces)
@settings(max_examples=300, deadline=None)
def test_text_and_title_of_a_page_are_what_their_patterns_find(page: str) -> None:
    visible = TAG.sub(" ", INVISIBLE.sub(" ", page))
    assert extract_text(page) == unescape(visible).strip()
    found = TITLE.search(page)
    assert extract_title(page) == (unescape(TAG.sub(" ", found[1])).strip() if found else "")


@for_each("digits", [3999, 4000, 5000])
def test_long_numbers_are_no_characters(digits: int) -> None:
    page = f"a &#{'9' * digits}; b"
    assert extract_text(page).split()[::2] == ["a", "b"]


header_lines = st.lists(
    st.tuples(
        st.sampled_from(["Newsgroups", "XREF", "path", "From", "Subject", "Pathology"]),
        st.lists(st.sampled_from(["x", "y: z"]), max_size=2),
    ),
    max_size=6,
)


@given(header_lines)
def test_lines_of_groups_are_removed_with_what_continues_them(lines: list[tuple[str, list[str]]]) -> None:
    def write(kept: list[tuple[str, list[str]]]) -> str:
        return "\n".join(
            line for name, more in kept for line in (f"{name}: value", *(f" {each}" for each in more))
        )

    own = [(name, more) for name, more in lines if name.lower() not in GROUP_LINES]
    assert remove_group_lines(write(lines)) == write(own)
    expected = "value" if any(name == "Subject" for name, _ in lines) else ""
    assert parse_subject(write(lines)) == expected


labels_of_documents = st.lists(
    st.tuples(st.sampled_from(["CCAT", "E11", "GCAT", "M1"]), st.integers(2286, 2292)),
    max_size=20,
    unique=True,
)


@given(labels_of_documents, st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_labels_are_collected_by_document_in_the_order_of_lines(
    tmp_path_factory, pairs, packed, ended
) -> None:
    """Lines of one document need not follow each other; equal sets of labels share one tuple."""
    path = tmp_path_factory.mktemp("qrels") / ("a.qrels.gz" if packed else "a.qrels")
    text = "\n".join(f"{label} {number} 1" for label, number in pairs) + ("\n" if ended and pairs else "")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    found = read_qrels(path)
    expected: dict[str, tuple[str, ...]] = {}
    for label, number in pairs:
        expected[str(number)] = (*expected.get(str(number), ()), label)
    assert found == expected
    for labels in found.values():
        assert sum(labels is other for other in found.values()) == list(found.values()).count(labels)


@for_each(
    "bad",
    [
        "E11 2286",
        "E11 2286 0",
        "E11 x 1",
        "E11 2286 1 more",
        "E11 1234567890 1",
        "",
        "E11 2286 1 CCAT 2286 1\n",
        "E11 2286 1 CCAT\n2286 1",
    ],
)
@for_each("line", [1, 3])
def test_a_bad_line_of_labels_is_named(bad: str, line: int, tmp_path: Path) -> None:
    lines = ["E11 2286 1", "CCAT 2286 1", "GCAT 2287 1"]
    lines[line - 1] = bad
    (tmp_path / "a.qrels").write_text("\n".join(lines) + "\n")
    with pytest.raises(BadDataError) as caught:
        read_qrels(tmp_path / "a.qrels")
    assert caught.value.where.endswith(f"a.qrels:{line}")


@for_each("split", load_card("rcv1").splits)
def test_sides_of_numbers(split: str) -> None:
    """The last training number is the boundary; the sample keeps a tenth of the later documents."""
    numbers = [str(number) for number in range(LAST_TRAINING_NUMBER - 100, LAST_TRAINING_NUMBER + 901)]
    sides = Rcv1Split(split, numbers, 1)
    early = {sides.of(number) for number in numbers if int(number) <= LAST_TRAINING_NUMBER}
    late = Counter(sides.of(number) for number in numbers if int(number) > LAST_TRAINING_NUMBER)
    assert early == {"test" if split == "swapped" else "train"}
    expected = {
        "lyrl2004": {"test": 900},
        "swapped": {"train": 900},
        "lyrl2004-sample": {"test": 90, "unused": 810},
    }
    assert late == expected[split]


@for_each("labels", RCV1_LABELS)
def test_other_labels_have_the_categories_that_occur(labels: str, tmp_path: Path) -> None:
    (tmp_path / "lyrl2004_tokens_train.dat").write_text(".I 2286\n.W\nrecov\n\n.I 2287\n.W\nmexic\n\n")
    (tmp_path / f"rcv1-v2.{labels}.qrels").write_text("I2 2286 1\nI1 2286 1\nI1 2287 1\n")
    corpus = open_corpus("rcv1", tmp_path, labels=labels)
    assert [document.labels for document in corpus.documents()] == [("I2", "I1"), ("I1",)]
    codes = tuple(topic.code for topic in load_topics())
    assert corpus.categories == (codes if labels == "topics" else ("I1", "I2"))
    (tmp_path / "lyrl2004_vectors_train.dat").write_text("2286  3:0.6 1:0.8\n2287  2:1.0\n")
    if labels != "topics":
        vectors = open_vectors("rcv1-vectors", tmp_path, labels=labels)
        assert vectors.categories == ("I1", "I2")
        assert vectors.Y.toarray().tolist() == [[True, True], [True, False]]


def test_a_vector_without_labels_is_damage(tmp_path: Path) -> None:
    (tmp_path / "rcv1-v2.topics.qrels").write_text("E11 2286 1\n")
    (tmp_path / "lyrl2004_vectors_train.dat").write_text("2286  3:0.6\n2287  2:1.0\n")
    with pytest.raises(BadDataError, match="document 2287 has no topics"):
        open_vectors("rcv1-vectors", tmp_path)


def test_the_hierarchy_of_topics_is_a_tree() -> None:
    """Every parent is a topic or the root, no topic is its own ancestor, and a topic has no more documents than it."""
    topics = {topic.code: topic for topic in load_topics()}
    assert len(topics) == 103
    assert list(topics) == sorted(topics)
    roots = {topic.parent for topic in topics.values()} - set(topics)
    assert len(roots) == 1
    for topic in topics.values():
        seen, above = {topic.code}, topic.parent
        while above not in roots:
            assert above not in seen
            assert topics[above].documents >= topic.documents
            seen.add(above)
            above = topics[above].parent
        assert 0 <= topic.training_documents <= topic.documents


headings = st.lists(
    st.sampled_from(["Animal", "Heart Arrest", "Support, U.S. Gov't"]), max_size=3, unique=True
)
medline = st.lists(
    st.fixed_dictionaries(
        {
            "mesh": headings,
            "title": st.sampled_from(["", "A title."]),
            "abstract": st.sampled_from(["", "Two\nlines."]),
            "year": st.integers(87, 91),
        }
    ),
    max_size=5,
)


@given(medline, st.booleans())
@settings(max_examples=40, deadline=None)
def test_references_are_read_as_they_were_written(
    tmp_path_factory, records: list[dict[str, Any]], named: bool
) -> None:
    """Empty fields may be missing; the year is that of the source, unless the file is named for a year."""
    folder = tmp_path_factory.mktemp("ohsumed")
    path = folder / ("ohsumed.90" if named else "ohsumed.all")
    text = ""
    for number, record in enumerate(records):
        mesh = "; ".join(f"{name}/*TH" for name in record["mesh"])
        text += f".I {number}\n.U\n8700000{number}\n.S\nX {record['year']}03; 1\n.M\n{mesh}.\n"
        text += f".T\n{record['title']}\n" if record["title"] else ""
        text += f".W\n{record['abstract']}\n" if record["abstract"] else ""
    path.write_text(text)
    found = list(read_medline_records(path))
    assert [(each.mesh, each.title, each.abstract) for each in found] == [
        (tuple(record["mesh"]), record["title"], record["abstract"]) for record in records
    ]
    assert [each.year for each in found] == [1990 if named else 1900 + record["year"] for record in records]
    corpus = open_corpus("ohsumed", folder, min_train=1)
    complete = [bool(r["mesh"] and r["title"] and r["abstract"]) for r in records]
    late = [named or record["year"] > 88 for record in records]
    assert [document.split for document in corpus.documents()] == [
        "unused" if not whole else "test" if after else "train"
        for whole, after in zip(complete, late, strict=True)
    ]


@for_each(
    ("source", "number", "year"),
    [
        ("X 8812; 1", "87000001", 1988),
        ("X 8813; 1", "87000001", 1987),
        ("no year", "91000001", 1991),
        ("", "x", None),
    ],
)
def test_the_year_is_that_of_the_source_or_of_the_number(
    source: str, number: str, year: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "ohsumed.some"
    path.write_text(f".I 1\n.U\n{number}\n.S\n{source}\n.T\nT\n")
    if year is None:
        with pytest.raises(BadDataError, match="no year"):
            list(read_medline_records(path))
    else:
        assert [record.year for record in read_medline_records(path)] == [year]


@for_each("topics_mark", ["YES", "NO", "BYPASS"])
@for_each("lewis", ["TRAIN", "TEST", "NOT-USED"])
@for_each("cgi", ["TRAINING-SET", "PUBLISHED-TESTSET"])
def test_every_record_has_the_side_that_the_readme_states(
    topics_mark: str, lewis: str, cgi: str, tmp_path: Path
) -> None:
    tag = f'<REUTERS TOPICS="{topics_mark}" LEWISSPLIT="{lewis}" CGISPLIT="{cgi}" NEWID="1">'
    path = tmp_path / "reut2-000.sgm"
    path.write_text(f"{tag}<TEXT><BODY>x</BODY></TEXT></REUTERS>")
    (record,) = read_sgml_records(path)
    by_lewis = {"TRAIN": "train", "TEST": "test", "NOT-USED": "unused"}[lewis]
    assert assign_side(record, "modapte") == (by_lewis if topics_mark == "YES" else "unused")
    assert assign_side(record, "modlewis") == (by_lewis if topics_mark != "BYPASS" else "unused")
    assert assign_side(record, "modhayes") == ("test" if cgi == "PUBLISHED-TESTSET" else "train")


@for_each("code", [0, 5, 31, 65, 127, 255, 8364, 0xD800, 0xDFFF, 0x10FFFF, 0x110000])
def test_numbered_entities_become_characters_but_not_markup(code: int) -> None:
    """Control characters become spaces; what is no character stays as it is written."""
    found = replace_controls(f"a&#{code};b")
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        assert found == f"a&#{code};b"
    elif code < 32 or code == 127:
        assert found == "a b"
    else:
        assert found == f"a{chr(code)}b"
    for kept in (38, 60):
        assert replace_controls(f"&#{kept};") == f"&#{kept};"


def test_attributes_alone_give_the_sizes_of_the_splits() -> None:
    """The table of number ranges has the documented numbers of training, test and unused documents."""
    known = load_attributes()
    topics, lewis, cgi = (np.array(known[name][1:]) for name in ("TOPICS", "LEWISSPLIT", "CGISPLIT"))
    for accepted, sizes in ((["YES"], (9603, 3299)), (["YES", "NO"], (13_625, 6188))):
        used = np.isin(topics, accepted)
        assert ((used & (lewis == "TRAIN")).sum(), (used & (lewis == "TEST")).sum()) == sizes
    assert (cgi == "PUBLISHED-TESTSET").sum() == 722


@for_each(
    ("content", "message"),
    [
        ('{"id": 1}', "not a list of documents"),
        ('["x"]', "a document is not an object"),
        ("[{}]", "not a document number"),
        ('[{"id": 0}]', "not a document number"),
        ('[{"id": "1.0"}]', "not a document number"),
        ('[{"id": true}, {"id": "x"}]', "not a document number"),
        ('[{"id": 1, "title": 5}]', "'title' is not text"),
        ('[{"id": 1, "body": "\\\\ud800"}]', "'body' is not text"),
        ('[{"id": 1, "topics": "earn"}]', "'topics' is not a list of labels"),
        ('[{"id": 1, "topics": ["earn", 3]}]', "'topics' is not a list of labels"),
    ],
)
def test_damaged_json_of_reuters_is_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "reuters-000.json"
    path.write_text(content.replace("\\\\", "\\"))
    with pytest.raises(BadDataError, match=message):
        list(read_json_records(path))


def test_json_of_reuters_gets_its_attributes_by_number(tmp_path: Path) -> None:
    path = tmp_path / "reuters-000.json"
    path.write_text(
        '[{"id": "1", "topics": ["cocoa"], "organisations": ["icco"], "title": "A\\u0007B"}, {"id": 2}]'
    )
    first, second = read_json_records(path)
    assert (first.number, first.lists, first.title) == (1, {"topics": ("cocoa",), "orgs": ("icco",)}, "A B")
    assert (second.lists, second.body) == ({}, "")
    known = load_attributes()
    assert (second.topics_mark, second.lewis_split) == (known["TOPICS"][2], known["LEWISSPLIT"][2])
