"""Makes weights in which lost state shows: slow_weights.py DRAWN OUT SEQUENCE

The first half of the heads keep at least KEPT of their state over SEQUENCE
tokens, whatever these are. What the published initialisation leaves constant (D,
biases, norms) is drawn, so that a wrong slice of it shows.
"""

import math
import random
import sys

import safetensors

KEPT = 0.3
SEED = 20260801


def draw(values, low, high):
    values[:] = type(values)("f", (random.uniform(low, high) for _ in values))


def largest_step(in_proj, heads, head, dt_bias):
    """Normed rows have length sqrt(d) at most: norm weights are at most 1."""
    (rows, columns), values = in_proj
    first = (rows - heads + head) * columns
    square = sum(v * v for v in values[first : first + columns])
    return math.log1p(math.exp(math.sqrt(square * columns) + dt_bias))


def make_slow(tensors, mixer, sequence):
    rates = tensors[mixer + "A_log"][1]
    biases = tensors[mixer + "dt_bias"][1]
    draw(biases, -1.0, 0.0)
    for head in range(len(rates) // 2):
        rates[head] = math.log(random.uniform(0.004, 0.007))
        step = largest_step(
            tensors[mixer + "in_proj.weight"], len(rates), head, biases[head]
        )
        kept = math.exp(-math.exp(rates[head]) * step * sequence)
        assert kept >= KEPT, f"{mixer} head {head} keeps {kept}"


def main():
    source, target, sequence = sys.argv[1], sys.argv[2], int(sys.argv[3])
    print("seed", SEED)
    random.seed(SEED)
    tensors = safetensors.read(source)
    for name, (_, values) in tensors.items():
        if name.endswith((".D", "norm.weight", "norm_f.weight")):
            draw(values, 0.5, 1.0)
        elif name.endswith("conv1d.bias"):
            draw(values, -0.3, 0.3)
    for name in list(tensors):
        if name.endswith("A_log"):
            make_slow(tensors, name[: -len("A_log")], sequence)
    safetensors.write(target, tensors)


main()
