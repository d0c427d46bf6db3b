# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A bar for each row, as long as what it reaches of its goal."""

import math
from xml.sax.saxutils import escape

ROW, LEFT, WIDTH, RIGHT = 22, 210, 480, 260
# Bars are logarithmic from SPAN times below the goal to SPAN times above.
SPAN = 8


def bar(y, line):
    reached = line.value / line.goal
    if "time" in line.unit or line.unit.startswith("us"):
        reached = 1 / reached
    place = 0.5 + 0.5 * math.log(max(reached, 1e-9)) / math.log(SPAN)
    length = WIDTH * min(max(place, 0.01), 1)
    color = "#2e7d32" if line.passed else "#c62828"
    text = f"{line.value:.3g} {line.unit} (goal {line.goal:.3g}) {line.verdict}"
    return (
        f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(line.name)}</text>'
        f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{ROW - 6}" fill="{color}"/>'
        f'<text x="{LEFT + WIDTH + 8}" y="{y + 15}">{escape(text)}</text>\n'
    )


def write(path, lines):
    height = ROW * (len(lines) + 2)
    middle = LEFT + WIDTH / 2
    with open(path, "w") as out:
        out.write(
            '<svg xmlns="http://www.w3.org/2000/svg" '
            f'width="{LEFT + WIDTH + RIGHT}" height="{height}" '
            'font-family="sans-serif" font-size="12">\n'
            '<rect width="100%" height="100%" fill="white"/>\n'
        )
        for number, line in enumerate(lines):
            out.write(bar(ROW * number, line))
        bottom = ROW * len(lines)
        out.write(
            f'<line x1="{middle}" y1="0" x2="{middle}" y2="{bottom}" stroke="black"/>\n'
            f'<text x="{middle}" y="{bottom + 16}" text-anchor="middle">goal</text>\n</svg>\n'
        )
