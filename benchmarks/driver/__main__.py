# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs both sides of the benchmarks: see scripts/bench.sh."""

import argparse
import dataclasses
import itertools
import os
import pathlib
import re
import sys

import accuracy
import cases
import measure
import picture
import processes
import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--rows", type=re.compile, default=re.compile(""))
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def make_workers(build, log, quick):
    peers = HERE.parent / "peers"
    python = str(build / "bench-venv" / "bin" / "python")
    environment = {
        "CP_BENCH_COMPILE": "0" if quick else "1",
        "TORCHINDUCTOR_CACHE_DIR": str(build / "bench" / "inductor"),
        # What is freed stays with the process, in huge pages: else torch spends
        # most of its time on pages that the system takes and gives.
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
        "MALLOC_TOP_PAD_": str(1 << 30),
        "THP_MEM_ALLOC_ENABLE": "1",
    }
    # MKL looks at the maker of a processor before it uses its widest registers.
    widest = {**environment, "LD_PRELOAD": str(build / "bench" / "widest_mkl.so")}

    def peer(name, library, environment):
        command = [python, str(peers / "worker.py"), library]
        return processes.Worker(name, command, log, environment)

    def over(transport):
        library = build / "lib" / f"libcprt_{transport}.so"
        return [str(build / "bin" / "cp-bench-transport"), str(library)]

    return {
        "ours": processes.Worker("ours", [str(build / "bin" / "cp-bench-worker")], log),
        "torch": peer("torch", "torch", widest),
        "released": peer("transformers", "torch", {}),
        "onnxruntime": peer("onnxruntime", "onnxruntime", environment),
        "accuracy": processes.Worker(
            "accuracy", [python, str(peers / "accuracy.py")], log, environment
        ),
        "mpi": processes.MPI([str(build / "bench" / "alltoall")], log),
        "ours over Open MPI": processes.MPI(
            over("openmpi"), log, processes.MPI.own_ways
        ),
        "ours over UCX": processes.Job(over("ucx"), log, {"UCX_TLS": "self,tcp"}),
        "gloo": processes.Job(
            [python, str(peers / "gloo_alltoall.py")], log, {"GLOO_SOCKET_IFNAME": "lo"}
        ),
    }


def chosen_cases(cores, pattern):
    config = ROOT / "examples/mamba2-130m/config.json"
    for case in itertools.chain(cases.all_cases(cores, config), accuracy.all_cases()):
        case.rows = [row for row in case.rows if pattern.search(row.name)]
        if case.rows:
            yield case


def measure_case(case, workers, options, rounds):
    """The lines of its rows, which go to standard error too."""
    if isinstance(case, accuracy.Accuracy):
        folder = options.build / "bench" / "accuracy"
        measured = accuracy.measure(case, workers, folder)
    else:
        measured = measure.measure(case, workers, rounds)
        for worker in workers.values():
            worker.close()
    lines = [report.line_of(row, measured) for row in case.rows]
    for line in lines:
        report.print_line(line, sys.stderr)
    return lines


def ask_again(case, lines, workers, options, rounds):
    """Rows that are short are asked again, without those that are not: the machine
    may have been busy. Rounding does not depend on that."""
    short = [line for line in lines if not line.passed]
    if not short or isinstance(case, accuracy.Accuracy):
        return
    names = {line.name for line in short}
    rows = [row for row in case.rows if row.name in names]
    again = measure_case(
        dataclasses.replace(case, rows=rows), workers, options, rounds
    )
    for line, second in zip(short, again):
        line.alone = second.value


def run(options, log):
    cores = len(os.sched_getaffinity(0))
    workers = make_workers(options.build, log, options.quick)
    rounds = 3 if options.quick else 7
    chosen = list(chosen_cases(cores, options.rows))
    if not chosen:
        raise processes.Failure(f"no row matches --rows={options.rows.pattern}")
    peaks = measure.ask_peaks(workers["ours"], cores, {})
    done = [(case, measure_case(case, workers, options, rounds)) for case in chosen]
    for case, lines in done:
        ask_again(case, lines, workers, options, rounds)
    measure.ask_peaks(workers["ours"], cores, peaks)
    for worker in workers.values():
        worker.close()
    lines = [line for _, lines in done for line in lines]
    report.print_peaks(peaks, cores, sys.stdout)
    report.print_header(sys.stdout)
    for line in lines:
        report.print_line(line, sys.stdout)
    report.write_csv(options.build / "bench" / "bench.csv", lines, peaks)
    picture.write(options.build / "bench" / "bench.svg", lines)
    return 0 if all(line.passed for line in lines) else 1


def main():
    options = parse_arguments()
    folder = options.build / "bench"
    folder.mkdir(exist_ok=True)
    with open(folder / "bench.log", "w") as log:
        try:
            return run(options, log)
        except processes.Failure as failure:
            print(f"bench: error: {failure}", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
