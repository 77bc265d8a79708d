"""Compiled code that numbers and counts n-grams of any symbols: words by number, or characters by code point.

Problem: find the different n-grams of the shortest to the longest length in rows of symbols, and count them
In:   the symbols of all rows, the start, end and limit of each row, and the table of the n-grams found so far
Out:  the numbers of each row's n-grams; n-grams are numbered from 1 in the order of first occurrence

An n-gram is the pair of its first n - 1 symbols, which have a number themselves, and its last symbol. The pair fits a
64-bit key, so n-grams of any length are compared exactly, and their names can be read back from the keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.compile import compile_kernel, compile_part


@compile_part
def find_slot(code: Any, secret: Any, slots: Any) -> int:
    """Return the first slot of a key: the top bits of its product with a secret odd number."""
    return int(((code ^ (code >> np.uint64(32))) * secret) >> np.uint64(33)) & (len(slots) - 1)


@compile_kernel
def fill_slots(keys: Any, known: int, secret: Any, slots: Any) -> None:
    """Put the numbers 1 to `known` into their first free slots; a free slot is 0."""
    for number in range(1, known + 1):
        slot = find_slot(keys[number], secret, slots)
        while slots[slot] > 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number


@compile_kernel
def list_ngrams(
    symbols: Any, starts: Any, ends: Any, limits: Any, shortest: int, longest: int, whole: bool, first_row: int,
    written: int, keys: Any, known: int, secret: Any, slots: Any, items: Any, item_ends: Any,
) -> tuple[int, int, int]:  # fmt: skip
    """List the n-grams of rows from `first_row` on; stop before a row that might not fit the table.

    The n-grams of a row begin in it and may end after it, up to its limit. Return the row reached, the number of
    entries of `items`, and the number of known n-grams. If `whole`, a row shorter than `shortest` is one n-gram.
    """
    for row in range(first_row, len(ends)):
        start, end = starts[row], ends[row]
        if known + (end - start) * longest >= len(keys):
            return row, written, known
        least = min(shortest, end - start) if whole else shortest
        for begin in range(start, end):
            number = 0
            for position in range(begin, min(begin + longest, limits[row])):
                key = (np.uint64(number) << np.uint64(32)) | np.uint64(symbols[position])
                slot = find_slot(key, secret, slots)
                number = slots[slot]
                while number > 0 and keys[number] != key:
                    slot = (slot + 1) & (len(slots) - 1)
                    number = slots[slot]
                if number == 0:
                    known += 1
                    number = known
                    slots[slot], keys[number] = number, key
                if position - begin + 1 >= least:
                    items[written] = number
                    written += 1
        item_ends[row] = written
    return len(ends), written, known


@compile_kernel
def count_items(
    items: Any,
    item_ends: Any,
    parts: Any,
    part_ends: Any,
    entry: Any,
    lengths: Any,
    columns: Any,
    counts: Any,
) -> int:
    """Count the items of documents that are sequences of parts; return the number of nonzero counts.

    Part p has the items from item_ends[p] to item_ends[p + 1]. `entry` holds the last entry of each item, which is
    this document's only if it is at least the document's first.
    """
    written = 0
    for document in range(len(part_ends)):
        first = written
        for place in range(part_ends[document - 1] if document else 0, part_ends[document]):
            part = parts[place]
            for position in range(item_ends[part], item_ends[part + 1]):
                item = items[position]
                if entry[item] < first:
                    entry[item], columns[written], counts[written] = written, item, 0
                    written += 1
                counts[entry[item]] += 1
        lengths[document] = written - first
    return written


@compile_kernel
def find_symbols(keys: Any, numbers: Any, lengths: Any, symbols: Any) -> None:
    """Write the symbols of n-grams to the rows of `symbols`, the last symbol first, and the lengths to `lengths`."""
    for row in range(len(numbers)):
        number, length = np.int64(numbers[row]), 0
        while number > 0:
            symbols[row, length] = keys[number] & np.uint64(0xFFFFFFFF)
            number, length = np.int64(keys[number] >> np.uint64(32)), length + 1
        lengths[row] = length
