"""Context parallelism for Mamba-2 and attention layers of PyTorch models.

    import cp_mlir
    cp = cp_mlir.shard(model, order="zigzag")    # a transformers model, in place
    loss = model(**cp.batch(input_ids)).loss     # each rank has its part of the tokens
    loss.backward()
    cp.sum_gradients()

Programs that cp-compile wrote are operators: see load(). torch is imported when it is
needed, and not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._native import CprtError
from .compiler import CompileError, Sharding, compile_ir
from .program import Program, TensorSpec
from .world import CollectiveCount, CollectiveRecord, World

if TYPE_CHECKING:
    from .batch import Batch
    from .compiled import CompiledModel, compile_model
    from .exporter import export
    from .operator import Operator, load
    from .parallel import ContextParallel, shard
    from .writer import ExportError

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "CollectiveCount",
    "CollectiveRecord",
    "CompileError",
    "CompiledModel",
    "ContextParallel",
    "CprtError",
    "ExportError",
    "Operator",
    "Program",
    "Sharding",
    "TensorSpec",
    "World",
    "compile_ir",
    "compile_model",
    "export",
    "load",
    "shard",
]

_WITH_TORCH = {
    "Batch": "batch",
    "CompiledModel": "compiled",
    "ContextParallel": "parallel",
    "ExportError": "writer",
    "Operator": "operator",
    "compile_model": "compiled",
    "export": "exporter",
    "load": "operator",
    "shard": "parallel",
}


def __getattr__(name: str) -> Any:
    if name not in _WITH_TORCH:
        raise AttributeError(f"module 'cp_mlir' has no attribute '{name}'")
    import importlib

    try:
        import torch
    except ImportError as error:
        raise ImportError(
            f"cp_mlir.{name} is for PyTorch, which is not installed; pip install torch"
        ) from error
    least = (2, 6)
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    if version < least:
        raise ImportError(
            f"cp_mlir.{name} needs PyTorch {least[0]}.{least[1]} or later, but "
            f"{torch.__version__} is installed"
        )
    return getattr(importlib.import_module(f".{_WITH_TORCH[name]}", __name__), name)
