"""The kernels of generalized probabilistic descent: losses, slopes, and the descent of one split alone.

Between two products of a descent the columns are lanes of vector registers: values and signs are arrays of rows of
sixteen numbers, `blocks` rows per document. `run_alone` has the documents of one column as lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from textcat.compile import compile_kernel, compile_part
from textcat.linear.lane_math import exponential
from textcat.linear.simd import WIDTH, any_differs, choose_less, entry, fused_multiply_add, load, splat, store


@compile_part
def find_merit_slopes(
    is_f1: Any, lost_positives: Any, lost_negatives: Any, positives: Any, negatives: Any
) -> Any:
    """Return the objective of a column and its slopes in the loss of a positive and of a negative.

    -F1 is equation 4.3, whose denominator FP + FN + 2 TP is FP + TP + the number of positives. The error is
    equation 4.10 with equal weights of the positive and the negative class (section 6.2.1).
    """
    if is_f1:
        true_positives = positives - lost_positives
        denominator = positives + true_positives + lost_negatives
        denominator = denominator if positives > 0 else denominator * 0 + 1
        square = denominator * denominator
        return (
            -2 * true_positives / denominator,
            2 * (denominator - true_positives) / square,
            2 * true_positives / square,
        )
    positive, negative = 0.5 / max(positives, 1), 0.5 / max(negatives, 1)
    return positive * lost_positives + negative * lost_negatives, positive, negative


@compile_kernel
def fill_merit_slopes(
    is_f1: Any, lost_positives: Any, lost_negatives: Any, positives: Any, negatives: Any, out: Any
) -> None:
    """Compute `find_merit_slopes` of each column."""
    for k in range(len(lost_positives)):
        out[0, k], out[1, k], out[2, k] = find_merit_slopes(
            is_f1, lost_positives[k], lost_negatives[k], positives[k], negatives[k]
        )


@compile_kernel
def fill_measures(values: Any, signs: Any, offsets: Any, sums: Any) -> None:
    """Replace w.x by the measure of equation 4.8 and add it up in each column."""
    blocks = len(offsets)
    for block in range(blocks):
        offset, total = load(offsets, block), splat(values, 0.0)
        for row in range(block, len(values), blocks):
            measure = load(signs, row) * (load(values, row) - offset)
            store(values, row, measure)
            total = total + measure
        store(sums, block, total)


@compile_kernel
def fill_losses(values: Any, signs: Any, alpha: Any, beta: Any, positives: Any, negatives: Any) -> None:
    """Replace measures by their losses (equation 4.7) and add these up over positives and over negatives."""
    blocks = len(beta)
    zero, one, slope = splat(values, 0.0), splat(values, 1.0), splat(values, -alpha)
    for block in range(blocks):
        offset, of_positives, of_negatives = load(beta, block), zero, zero
        for row in range(block, len(values), blocks):
            side = load(signs, row)
            loss = one / (one + exponential(slope * (load(values, row) + offset)))
            store(values, row, loss)
            of_positives = of_positives + choose_less(side, zero, loss, zero)
            of_negatives = of_negatives + choose_less(zero, side, loss, zero)
        store(positives, block, of_positives)
        store(negatives, block, of_negatives)


@compile_kernel
def fill_slopes(values: Any, signs: Any, alpha: Any, positive: Any, negative: Any, sums: Any) -> None:
    """Replace losses by the slopes in w.x: alpha l (1 - l) times the slope of the merit in the loss; add them up."""
    blocks = len(sums)
    zero, one, factor = splat(values, 0.0), splat(values, 1.0), splat(values, alpha)
    for block in range(blocks):
        pull, push, total = zero - load(positive, block), load(negative, block), zero
        for row in range(block, len(values), blocks):
            side, loss = load(signs, row), load(values, row)
            weight = choose_less(zero, side, push, choose_less(side, zero, pull, zero))
            slope = factor * loss * (one - loss) * weight
            store(values, row, slope)
            total = total + slope
        store(sums, block, total)


@compile_kernel
def run_alone(
    gram: Any, values: Any, signs: Any, moves: Any, steps: Any, alpha: Any, mean_factor: Any, is_f1: Any
) -> None:
    """Run equation 5.3 for one column whose documents are lanes, until nothing changes.

    A step of size s by slopes g changes the values w.x - w0 by -s (X X' g + sum of g); `moves` adds up s g.
    """
    slopes, products = np.empty_like(values), np.empty_like(values)
    lanes = np.empty((5, WIDTH), values.dtype)
    flat, blocks = slopes.reshape(-1), len(values)
    positives, negatives = (signs < 0).sum(), (signs > 0).sum()
    none, beta, first, second, sums = lanes[:1], lanes[1:2], lanes[2:3], lanes[3:4], lanes[4:]
    for step in steps:
        slopes[:], none[:], products[:] = values, 0, 0
        fill_measures(slopes, signs, none, sums)
        beta[:] = mean_factor * sums.sum() / (positives + negatives)
        fill_losses(slopes, signs, alpha, beta, first, second)
        merit = find_merit_slopes(is_f1, first.sum(), second.sum(), positives, negatives)
        first[:], second[:] = merit[1], merit[2]
        fill_slopes(slopes, signs, alpha, first, second, sums)
        for j in range(len(flat)):
            slope = splat(values, entry(flat, j))
            for block in range(blocks):
                row = j * blocks + block
                store(products, block, fused_multiply_add(slope, load(gram, row), load(products, block)))
        size, shift, moved = splat(values, step), splat(values, step * sums.sum()), False
        for block in range(blocks):
            old = load(values, block)
            new = old - size * load(products, block) - shift
            store(values, block, new)
            store(moves, block, load(moves, block) + size * load(slopes, block))
            moved = moved or any_differs(old, new)
        if not moved:
            return
