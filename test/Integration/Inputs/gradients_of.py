"""gradients_of.py RESULTS GRADIENTS: results must hold each gradient, as "grad." and its
name, to the bit."""

import sys

import safetensors as files

results, gradients = (files.read(path) for path in sys.argv[1:])
assert gradients
for name, tensor in gradients.items():
    assert results["grad." + name] == tensor, name
