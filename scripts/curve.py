"""Draws the losses of curves that cp-train has written, as SVG.

usage: curve.py OUT.svg NAME=CURVE.csv [NAME=CURVE.csv ...]
"""

import csv
import pathlib
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 320, 50, 10, 10, 40
COLOURS = ["#1f77b4", "#d62728", "#2ca02c", "#9467bd"]


def read(argument):
    name, _, path = argument.partition("=")
    with open(path, encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows:
        sys.exit(f"{path}: has no step")
    return name, [(int(row["step"]), float(row["loss"])) for row in rows]


def main():
    out, *arguments = sys.argv[1:]
    curves = [read(argument) for argument in arguments]
    points = [point for _, curve in curves for point in curve]
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    top = max(y for _, y in points)

    def place(step, loss):
        x = LEFT + (step - first) / max(last - first, 1) * (WIDTH - LEFT - RIGHT)
        y = TOP + (1 - loss / top) * (HEIGHT - TOP - BOTTOM)
        return f"{x:.1f},{y:.1f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    base = HEIGHT - BOTTOM
    for loss in range(int(top) + 1):
        y = place(first, loss).split(",")[1]
        lines.append(f'<path d="M{LEFT},{y} H{WIDTH - RIGHT}" stroke="#ddd"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{loss}</text>')
    for step in (first, last):
        x = place(step, 0).split(",")[0]
        lines.append(f'<text x="{x}" y="{base + 16}" text-anchor="middle">{step}</text>')
    lines.append(f'<text x="{WIDTH // 2}" y="{HEIGHT - 6}" text-anchor="middle">step</text>')
    for number, (name, curve) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        # What lies on another is dashed, so that both show.
        dash = ' stroke-dasharray="6 6" stroke-width="3"' if number else ""
        path = " ".join(place(*point) for point in curve)
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}"{dash}/>')
        lines.append(f'<text x="{WIDTH - 120}" y="{TOP + 20 + 16 * number}" '
                     f'fill="{colour}">{name}</text>')
    lines.append("</svg>")
    pathlib.Path(out).write_text("\n".join(lines) + "\n", encoding="utf-8")


main()
