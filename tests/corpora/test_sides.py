"""Label counts by side."""

from __future__ import annotations

from textcat.corpora import Document, count_categories


def test_labels_are_counted_by_side() -> None:
    documents = [
        Document("1", {}, ("b", "a"), "train"),
        Document("2", {}, ("b",), "train"),
        Document("3", {}, ("c", "a"), "test"),
        Document("4", {}, ("d",), "unused"),
        Document("5", {}, ("a",), "train"),
    ]
    counts = count_categories(documents)
    assert counts.in_train() == ("a", "b")
    assert counts.in_test() == ("a", "c")
    assert counts.in_both() == ("a",)
    assert counts.in_train_or_test() == ("a", "b", "c")
    assert counts.with_at_least(2) == ("a", "b")
    assert counts.with_at_least(3) == ()
