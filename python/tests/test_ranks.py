"""What ranks.py found on 2 and on 4 ranks under torchrun."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cp_mlir import _native

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module", params=[2, 4])
def found(request: pytest.FixtureRequest, tmp_path_factory: Any) -> dict[str, Any]:
    results = tmp_path_factory.mktemp("ranks") / "results.json"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "torch.distributed.run",
            f"--nproc-per-node={request.param}",
            str(HERE / "ranks.py"),
            str(results),
        ],
        check=True,
        timeout=600,
    )
    return {"ranks": request.param, **json.loads(results.read_text())}


@pytest.mark.parametrize("case", ["agreement", "packed", "exported", "packed_whole"])
def test_agreement(found: dict[str, Any], case: str) -> None:
    models = {"packed": 4, "packed_whole": 3}.get(case, 0)
    expected = 24 + models if found["ranks"] == 2 else 28 + 2 * models
    assert len(found[case]) == expected
    for label, each in found[case].items():
        for what, distance in each.items():
            assert distance < 1e-12, (label, what)


@pytest.mark.parametrize(("case", "count"), [("hybrids", 8), ("families_whole", 9)])
def test_other_families(found: dict[str, Any], case: str, count: int) -> None:
    assert len(found[case]) == count
    for label, each in found[case].items():
        for what, distance in each.items():
            assert distance < 1e-12, (label, what)


def test_devices(found: dict[str, Any]) -> None:
    assert len(found["devices"]) == (12 if found["ranks"] == 2 else 2)
    for label, each in found["devices"].items():
        assert each["loss"] < 1e-5, label
        assert each["gradients"] < 1e-4, label


def test_training(found: dict[str, Any]) -> None:
    assert len(found["training"]) == 22
    for label, each in found["training"].items():
        assert each["worst"] < 1e-4, label
        assert each["falls"] > 1e-2, label


def test_packed_training(found: dict[str, Any]) -> None:
    assert len(found["packed_training"]) == 8
    for label, each in found["packed_training"].items():
        assert each["worst"] < 1e-4, label
        assert each["falls"] > 1e-2, label


def test_compiled(found: dict[str, Any]) -> None:
    for label, each in found["compiled"].items():
        assert each["worst"] < 1e-4, label
        assert each["falls"] > 1e-2, label
        assert each["shorter"] < 1e-3, label
        assert each["programs"] == 2, label


def test_pages(found: dict[str, Any]) -> None:
    assert sorted(found["pages"]) == ["Automodel", "Megatron", "Transformers"]
    for label, each in found["pages"].items():
        assert each["loss"] < 1e-5, label
        assert each["after"] < 1e-4, label
        assert each["fell"] > 1e-2, label


def test_operators(found: dict[str, Any]) -> None:
    assert found["operators"]["y"] < 1e-13
    assert found["operators"]["gradients"] < 1e-12


def test_subgroups(found: dict[str, Any]) -> None:
    assert found["subgroups"]["gradients"] < 1e-5


def test_replicas(found: dict[str, Any]) -> None:
    assert found["replicas"]["terms"] < 1e-14
    assert found["replicas"]["alike"] < 1e-14


def test_traffic(found: dict[str, Any], tmp_path: Path) -> None:
    """As cp-run reports of the same layer."""
    for label, each in found["traffic"].items():
        report = tmp_path / "report.json"
        subprocess.run(
            [
                str(_native.find("cp-run")),
                "-",
                *each["flags"],
                "--quiet",
                f"--report={report}",
            ],
            input=each["ir"],
            text=True,
            check=True,
        )
        rows = json.loads(report.read_text())["collectives"]
        expected = {row["op"]: row["bytes_sent_per_rank"][0] for row in rows}
        assert each["sent"] == expected, label
        # One by one the same, in their order.
        summed: dict[str, int] = {}
        for op, sent, seconds, _ in each["history"]:
            assert seconds >= 0
            summed[op] = summed.get(op, 0) + sent
        assert summed == expected, label
        numbers = [number for *_, number in each["history"]]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), label


def test_automodel(found: dict[str, Any]) -> None:
    """The released package's way of doing the same, with transformers' own scan. Four
    ranks may have fewer processors than that."""
    for strategy, each in found["automodel"].items():
        print(
            f"\n{found['ranks']} ranks, {strategy}: {each['seconds']:.3f} s a step, "
            f"{each['theirs']:.3f} s by MambaContextParallel"
        )
        assert each["y"] < 1e-5
        assert each["gradients"] < 1e-5
        if found["ranks"] == 2:
            assert each["seconds"] < 0.5 * each["theirs"]


def test_rows_that_ranks_do_not_divide(found: dict[str, Any]) -> None:
    uneven = found["uneven"]
    for name in ("short", "long", "short again"):
        assert uneven[name] < 1e-12, name
    assert uneven["programs"] == 2
    assert uneven["unknown"].startswith("ValueError: 'x' [2, 3, 6] may be a part of")


def test_a_rank_that_does_not_come_to_compile(found: dict[str, Any]) -> None:
    said = found["absent"]["first"]
    assert said.startswith("CompileError: not all ranks came to compile within 2 s")


def test_fewer_heads_than_ranks(found: dict[str, Any]) -> None:
    # Angles are those of f32.
    assert found["grouped"]["logits"] < 1e-5


def test_results_that_are_no_part_of_a_row(found: dict[str, Any]) -> None:
    turned = found["transposed"]
    assert turned["undivided"].startswith("ValueError: the result 'logits' has its tok")
    assert max(turned["result"], turned["gradient"]) < 1e-12


def test_what_one_rank_does(found: dict[str, Any]) -> None:
    assert found["alone"] == {"distance": 0.0, "programs": 1}


def test_copies(found: dict[str, Any]) -> None:
    assert max(found["copies"].values()) < 1e-5


def test_checkpointed(found: dict[str, Any]) -> None:
    for name, distance in found["checkpointed"].items():
        if name == "mamba2":
            assert "has not handed on its documents" in distance
        else:
            assert distance < 1e-6


def test_memory_falls(found: dict[str, Any], tmp_path: Path) -> None:
    results = tmp_path / "one.json"
    environment = dict(os.environ, RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1")
    with socket.create_server(("127.0.0.1", 0)) as free:
        environment["MASTER_PORT"] = str(free.getsockname()[1])
    subprocess.run(
        [sys.executable, str(HERE / "ranks.py"), str(results), "memory"],
        env=environment,
        check=True,
        timeout=300,
    )
    alone = json.loads(results.read_text())["memory"]["bytes"]
    share = alone / found["ranks"]
    assert abs(found["memory"]["bytes"] - share) < 0.15 * share


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("labels", "ValueError: labels alone are shifted within a rank's part"),
        ("mask", "ValueError: an attention_mask that is not all ones"),
        ("ones", "nothing"),
        ("documents", "ValueError: documents have positions of their own"),
        ("positions", "ValueError: position_ids are not those of this rank's tokens"),
        ("by place", "ValueError: an attention_mask that is not all ones"),
        ("twice", "ValueError: this BambaForCausalLM is sharded already"),
        ("strategy", "ValueError: order must be one of contiguous, zigzag, striped"),
        ("ranks", "ValueError: the mesh (8,) has 8 ranks, but the process group has "),
        ("device", "CprtError: CPRT_PEER_FAILED: "),
        ("dropout", "ValueError: BambaAttention has dropout 0.5 in training"),
        ("program", "ValueError: ranks [1"),
    ],
)
def test_refusals(found: dict[str, Any], case: str, expected: str) -> None:
    assert found["refusals"][case].startswith(expected)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("attention", "ValueError: the attention of BambaModel is 'eager' now"),
        ("attention again", "nothing"),
        ("wrapped labels", "ValueError: labels alone are shifted within a rank's part"),
        ("last token", "ValueError: logits_to_keep is of the last tokens of a row"),
        ("adapter", "ValueError: 'model.layers.1.mamba.in_proj' is a Adapter"),
    ],
)
def test_changed(found: dict[str, Any], case: str, expected: str) -> None:
    assert found["changed"][case].startswith(expected)


def test_wrapped(found: dict[str, Any]) -> None:
    direct, wrapped = found["changed"]["wrapped"]
    assert direct == wrapped


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("none", "ValueError: no parameter of this BambaForCausalLM has a gradient"),
        ("twice", "ValueError: these gradients have been added up already"),
        ("unlike", "nothing"),
        ("anew", "nothing"),
        ("rows", "ValueError: ranks gave batch() other rows than each other"),
        ("rows summed", "ValueError: ranks gave batch() other rows than each other"),
        ("rows again", "nothing"),
        ("failed", "CprtError: CPRT_INVALID_ARGUMENT: as a test wants it"),
        ("failed, anew", "nothing"),
        ("deadline", "ValueError: deadline must be more than 0 seconds, but is -1"),
    ],
)
def test_sums(found: dict[str, Any], case: str, expected: str) -> None:
    assert found["sums"][case].startswith(expected)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("rows", "ValueError: ranks gave batch() other rows than each other"),
        ("rows anew", "ValueError: ranks gave batch() other rows than each other"),
        ("rows again", "nothing"),
        ("order", "ValueError: the batch was cut for "),
        ("nothing", "ValueError: no parameter of this Mamba2ForCausalLM has a grad"),
        ("longer", "ValueError: input_ids have shape [2, 64], but this rank's part"),
        ("norm", "ValueError: 'backbone.layers.0.mixer.norm' is a Sequential now"),
        ("parameters, shard", "ValueError: ranks have other parameters"),
        ("parameters, compile_model", "ValueError: ranks have other parameters"),
        ("ddp", "ValueError: DDP over these ranks adds gradients up itself"),
        ("ddp no more", "nothing"),
        ("without its batch", "CompileError: this rank came to compare their first r"),
        ("fsdp", "TypeError: 'backbone.embeddings.weight' is a DTensor, as FSDP"),
        ("positions", "TypeError: the programs know their tokens' positions"),
    ],
)
def test_slips(found: dict[str, Any], case: str, expected: str) -> None:
    assert found["slips"][case].startswith(expected)


def test_gradients_of_a_copy(found: dict[str, Any]) -> None:
    assert found["sums"]["copy"] < 1e-4


def start(
    script: str, ranks: int, folder: Path, *words: str
) -> list[subprocess.Popen[str]]:
    """As torchrun does, but leaves the others alone when one ends."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return [
        subprocess.Popen(
            [sys.executable, str(HERE / script), str(folder), *words],
            env=dict(
                os.environ,
                RANK=str(rank),
                WORLD_SIZE=str(ranks),
                LOCAL_WORLD_SIZE=str(ranks),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(port),
            ),
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(ranks)
    ]


def test_a_rank_that_dies(tmp_path: Path) -> None:
    """In the middle of a step: the others get the typed error, before the deadline."""
    processes = start("dying.py", 3, tmp_path)
    try:
        outputs = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert processes[1].returncode == -signal.SIGKILL
    died = float((tmp_path / "died").read_text())
    for rank in (0, 2):
        status, told, text = outputs[rank].strip().split(" ", 2)
        assert status == "CPRT_PEER_FAILED", text
        assert "rank 1" in text
        assert float(told) - died < 6
    assert time.time() - died < 60


def test_an_error_of_a_models_own(tmp_path: Path) -> None:
    """That nobody catches: the others get its text while its process is still there."""
    processes = start("raising.py", 3, tmp_path)
    try:
        outputs = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert processes[1].returncode == 1
    raised = float((tmp_path / "raised").read_text())
    for rank in (0, 2):
        status, told, text = outputs[rank].strip().split(" ", 2)
        assert status == "CPRT_PEER_FAILED", text
        assert "rank 1" in text
        assert "LookupError: a table of the model's own has no such entry" in text
        assert float(told) - raised < 10


@pytest.mark.parametrize("model", ["mamba2", "bamba"])
def test_unlike_documents(tmp_path: Path, model: str) -> None:
    """Where heads are cut no rows go astray, but each rank would have other ones."""
    processes = start("unlike.py", 2, tmp_path, model)
    try:
        outputs = [process.communicate(timeout=120)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for output in outputs:
        assert output.startswith("CPRT_MISMATCH"), output
        assert "other documents in row 0" in output


def test_ctrl_c_ends_a_wait(tmp_path: Path) -> None:
    """Rank 1 stays away from a step that rank 0 is in."""
    processes = start("interrupted.py", 2, tmp_path)
    try:
        deadline = time.time() + 120
        while not (tmp_path / "waits").exists() and time.time() < deadline:
            time.sleep(0.05)
        # Inside by then.
        time.sleep(1)
        processes[0].send_signal(signal.SIGINT)
        outputs = [process.communicate(timeout=60)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    took = outputs[0].split()
    assert took[0] == "KeyboardInterrupt", outputs
    assert float(took[1]) < 3
    assert "interrupted by a signal" in outputs[1], outputs
