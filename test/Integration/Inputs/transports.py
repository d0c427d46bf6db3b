"""transports.py MODEL FOLDER RANKS LAUNCHER TRANSPORT [LAUNCHER TRANSPORT ...]

Runs a model in many ways on threads and on processes, compiled there and from a file,
with the transports in turn: results must be the same bytes, and the reports must count
the same collectives and bytes.
"""

import json
import subprocess
import sys

SCANS = ("chain", "gather", "doubling", "pipelined", "transposed")


def ways(ranks):
    """Arguments of cp-run that say how to shard, and what to compute."""
    for scan in SCANS:
        for order in ("contiguous", "zigzag"):
            yield ["--strategy=sequence", f"--scan={scan}", f"--order={order}"]
    yield ["--strategy=hidden", "--attention=ring", "--order=zigzag"]
    yield ["--strategy=hidden", "--attention=ulysses"]
    yield ["--strategy=sequence", "--attention=gather", "--order=striped:2"]
    yield [f"--mesh=dp=2,cp={ranks // 2}", "--batch=dp"]
    yield [f"--mesh=cp={ranks // 2},tp=2", "--tp=tp", "--attention=ring"]
    for order in ("contiguous", "zigzag"):
        yield ["--loss=next_token", "--gradients", f"--order={order}"]
    yield ["--loss=next_token", "--gradients", "--strategy=hidden", "--params=cp"]


def run(command, model, folder, name, way):
    """What is written: the bytes of the results, and the collectives."""
    outputs, report = f"{folder}/{name}.safetensors", f"{folder}/{name}.json"
    subprocess.run(
        [*command, "--quiet", model, "--rank-threads=1", *way]
        + [f"--outputs={outputs}", f"--report={report}"],
        check=True,
    )
    with open(outputs, "rb") as file:
        results = file.read()
    with open(report, encoding="utf-8") as file:
        said = json.load(file)
    assert said["backend"] == name, said["backend"]
    for count in said["collectives"]:
        # A time.
        exposed = count.pop("exposed_seconds_per_rank")
        assert len(exposed) == len(count["bytes_sent_per_rank"]), count
        assert all(0 <= seconds < 60 for seconds in exposed), (count, exposed)
        assert sum(exposed) > 0 or not any(count["bytes_sent_per_rank"]), count
    return results, said["collectives"]


def main():
    model, folder, ranks, *jobs = sys.argv[1:]
    launchers = list(zip(jobs[::2], jobs[1::2]))
    assert launchers
    for number, way in enumerate(ways(int(ranks))):
        given = way if any("--mesh" in flag for flag in way) else [f"--ranks={ranks}", *way]
        expected = run(["cp-run"], model, folder, "threads", given)
        assert len(expected[0]) > 1000 and expected[1], way
        program = f"{folder}/program.so"
        subprocess.run(["cp-compile", model, *given, "-o", program], check=True)
        from_file = {"threads", launchers[number % len(launchers)][1]}
        for launcher, transport in [*launchers, ("", "threads")]:
            start = [launcher, "-n", ranks] if launcher else []
            found = {}
            if launcher:
                command = [*start, "cp-run", f"--transport={transport}"]
                found["cp-run"] = run(command, model, folder, transport, given)
            if transport in from_file:
                command = [*start, "cp-launch", f"--transport={transport}"]
                found["cp-launch"] = run(command, program, folder, transport,
                                         ["--test-piece-bytes=1000"])
            for tool, what in found.items():
                if what != expected:
                    sys.exit(f"{tool}, {transport}: {' '.join(given)}: results differ from "
                             f"those on threads, or collectives: {what[1]}, expected "
                             f"{expected[1]}")
            print(transport, *given, *found, "same")


main()
