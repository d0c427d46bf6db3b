# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and convolution in onnxruntime, as one-layer models."""

import os

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

WINDOW = 4
random = np.random.default_rng(1)


def session(nodes, inputs, outputs, constants):
    """A session with all optimisations and a thread for each core, whose inputs
    and outputs are bound: a call that runs it."""
    info = lambda name, shape, kind=TensorProto.FLOAT: helper.make_tensor_value_info(
        name, kind, shape
    )
    kinds = {np.dtype("float32"): TensorProto.FLOAT, np.dtype("int32"): TensorProto.INT32}
    graph = helper.make_graph(
        nodes,
        "layer",
        [info(name, array.shape, kinds[array.dtype]) for name, array in inputs.items()],
        [info(name, shape) for name, shape in outputs.items()],
        [
            helper.make_tensor(name, kinds[array.dtype], array.shape, array.tobytes(), raw=True)
            for name, array in constants.items()
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = len(os.sched_getaffinity(0))
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    running = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    binding = running.io_binding()
    for name, array in inputs.items():
        binding.bind_cpu_input(name, array)
    for name, shape in outputs.items():
        value = onnxruntime.OrtValue.ortvalue_from_numpy(np.empty(shape, np.float32))
        binding.bind_ortvalue_output(name, value)
    return lambda: running.run_with_iobinding(binding)


def draw(*shape):
    return random.uniform(-1, 1, shape).astype(np.float32)


def attention(settings):
    length, heads, size = (
        int(settings.get(key, value))
        for key, value in (("length", 2048), ("heads", 16), ("size", 128))
    )
    shape = (1, length, heads * size)
    qkv = {name: draw(*shape) for name in "qkv"}

    def multi_head():
        node = helper.make_node(
            "MultiHeadAttention",
            ["q", "k", "v"],
            ["o"],
            domain="com.microsoft",
            num_heads=heads,
            unidirectional=1,
        )
        return session([node], qkv, {"o": shape}, {})

    def grouped():
        node = helper.make_node(
            "GroupQueryAttention",
            ["q", "k", "v", "", "", "last", "total"],
            ["o", "past_k", "past_v"],
            domain="com.microsoft",
            num_heads=heads,
            kv_num_heads=heads,
        )
        lengths = {
            "last": np.array([length - 1], np.int32),
            "total": np.array(length, np.int32),
        }
        past = (1, heads, length, size)
        outputs = {"o": shape, "past_k": past, "past_v": past}
        return session([node], {**qkv, **lengths}, outputs, {})

    yield "MultiHeadAttention", multi_head
    yield "GroupQueryAttention", grouped


def conv1d(settings):
    length, channels = int(settings["length"]), int(settings["channels"])
    shape = (1, channels, length)

    def convolution():
        nodes = [
            helper.make_node(
                "Conv", ["x", "w", "b"], ["c"], group=channels, pads=[WINDOW - 1, 0]
            ),
            helper.make_node("Sigmoid", ["c"], ["s"]),
            helper.make_node("Mul", ["c", "s"], ["y"]),
        ]
        constants = {"w": draw(channels, 1, WINDOW), "b": draw(channels)}
        return session(nodes, {"x": draw(*shape)}, {"y": shape}, constants)

    yield "Conv", convolution


ROWS = {"attention": attention, "conv1d": conv1d}
