#!/usr/bin/env python3
"""Prints how even attention's work is on rows of documents, order by order.

For 131 072 tokens over 8 ranks: the work of the busiest rank over the mean, where a
token's work is the number of keys that it sees; and of the lognormal mixes, which share
of the tokens goes to another rank where attention has an order of its own and the
model's other layers contiguous rows. See docs/Packing.md.
"""

import random

TOKENS, RANKS = 131072, 8


def lognormal(seed):
    """Documents of median 1 800 tokens; one in a hundred has 29 000 or more."""
    draw = random.Random(seed)
    lengths, left = [], TOKENS
    while left:
        length = min(left, max(1, round(draw.lognormvariate(7.5, 1.2))))
        lengths.append(length)
        left -= length
    return lengths


def rank_of(order, lengths):
    if order == "contiguous":
        return lambda t: t * RANKS // TOKENS
    if order == "zigzag":
        def zigzag(t):
            block = t * 2 * RANKS // TOKENS
            return min(block, 2 * RANKS - 1 - block)
        return zigzag
    if order == "zigzag_per_document":
        # A document's last tokens, fewer than two a rank, are shared out in blocks.
        ranks, rests = [], []
        for length in lengths:
            half = length // (2 * RANKS)
            for place in range(length):
                if place >= 2 * RANKS * half:
                    rests.append(len(ranks))
                    ranks.append(None)
                else:
                    block = place // half
                    ranks.append(min(block, 2 * RANKS - 1 - block))
        for number, token in enumerate(rests):
            ranks[token] = number * RANKS // len(rests)
        return lambda t: ranks[t]
    if order == "contiguous_per_document":
        # Blocks that are one longer follow each other from document to document.
        ranks, turn = [], 0
        for length in lengths:
            block, longer = divmod(length, RANKS)
            for rank in range(RANKS):
                ranks += [rank] * (block + ((rank - turn) % RANKS < longer))
            turn = (turn + longer) % RANKS
        return lambda t: ranks[t]
    unit = int(order.partition(":")[2])
    return lambda t: t // unit % RANKS


def imbalance(lengths, order):
    rank, work, token = rank_of(order, lengths), [0] * RANKS, 0
    for length in lengths:
        for place in range(length):
            work[rank(token)] += place + 1
            token += 1
    return max(work) * RANKS / sum(work)


def moved(lengths, order):
    """Tokens that a reorder from contiguous rows sends to another rank, of all."""
    rank, rows = rank_of(order, lengths), rank_of("contiguous", lengths)
    return sum(rank(token) != rows(token) for token in range(TOKENS)) / TOKENS


def main():
    mixes = [lognormal(seed) for seed in range(20)]
    print("| order | one document | 64 of 2 048 | lognormal: mean, worst of 20 "
          "| tokens moved |")
    print("|---|---|---|---|---|")
    for order in ("contiguous", "zigzag", "striped:512", "contiguous_per_document",
                  "zigzag_per_document"):
        drawn = [imbalance(lengths, order) for lengths in mixes]
        # In the others all of a model runs.
        share = "none"
        if order.endswith("per_document"):
            share = f"{sum(moved(lengths, order) for lengths in mixes) / len(mixes):.2f}"
        print(f"| `{order}` | {imbalance([TOKENS], order):.2f} "
              f"| {imbalance([2048] * 64, order):.2f} "
              f"| {sum(drawn) / len(drawn):.2f}, {max(drawn):.2f} | {share} |")


if __name__ == "__main__":
    main()
