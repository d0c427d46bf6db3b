# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes that do the work: they answer a line by a line."""

import os
import socket
import subprocess


class Failure(Exception):
    """A question that could not be answered, with what the other side said."""


class Worker:
    """A process that keeps its buffers from question to question."""

    def __init__(self, name, command, log, environment=None):
        self.name, self.command = name, command
        self.log, self.environment = log, environment or {}
        self.process = None

    def ask(self, question):
        """A number, and what else the answer says."""
        if self.process is None:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.log,
                text=True,
                env={**os.environ, **self.environment},
            )
        try:
            self.process.stdin.write(question + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise Failure(f"{self.name} ended at '{question}'; see {self.log.name}")
        if answer.startswith("error: "):
            raise Failure(f"{self.name} on '{question}': {answer[7:]}")
        number, _, label = answer.partition(" ")
        return float(number), label

    def close(self):
        """Gives back its memory; the next question starts it anew."""
        if self.process is None:
            return
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.process = None


def settings_of(question):
    """What an exchange between processes is asked: BYTES ROUNDS ITERATIONS, of so
    many ranks."""
    settings = dict(word.split("=") for word in question.split()[1:])
    return int(settings["ranks"]), [settings[key] for key in ("bytes", "rounds", "iterations")]


def seconds_of(command, codes, said, log):
    """What rank 0 said last."""
    try:
        if not any(codes):
            return float(said.splitlines()[-1])
    except (IndexError, ValueError):
        pass
    raise Failure(f"{' '.join(command)} failed; see {log.name}")


class MPI:
    """Open MPI: a run of mpirun for each question, at its fastest settings."""

    launch = ["mpirun", "--allow-run-as-root", "--bind-to", "core", "--mca", "btl", "self,vader"]
    # How bytes go from one process to the other, and the algorithm of the
    # exchange (0: what the library chooses; 1 linear, 2 pairwise, 4 linear with
    # a bound, 5 two processes).
    ways = [
        (f"{copy}-{algorithm}", ["--mca", "btl_vader_single_copy_mechanism", copy]
         + ["--mca", "coll_tuned_use_dynamic_rules", str(int(algorithm > 0))]
         + ["--mca", "coll_tuned_alltoall_algorithm", str(algorithm)])
        for copy in ("cma", "none")
        for algorithm in (0, 1, 2, 4, 5)
    ]
    # For a program that has an exchange of its own.
    own_ways = [way for way in ways if way[0].endswith("-0")]

    def __init__(self, command, log, ways=None):
        self.command, self.log = command, log
        self.ways = ways or self.ways
        self.kept = {}

    def run(self, way, question):
        ranks, arguments = settings_of(question)
        command = [*self.launch, *way, "-n", str(ranks), *self.command, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=self.log, text=True)
        return seconds_of(command, [done.returncode], done.stdout, self.log)

    def ask(self, question):
        if question not in self.kept:
            tried = []
            for label, way in self.ways:
                try:
                    tried.append((self.run(way, question), label, way))
                except Failure as failure:
                    last = failure
            if not tried:
                raise last
            self.kept[question] = min(tried)[1:]
        label, way = self.kept[question]
        return self.run(way, question), label

    def close(self):
        pass


class Job:
    """A process for each rank and question, started as torchrun starts them."""

    most_seconds = 120

    def __init__(self, command, log, environment):
        self.command, self.log, self.environment = command, log, environment

    def start(self, rank, ranks, port, arguments):
        told = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        return subprocess.Popen(
            [*self.command, *arguments],
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, **self.environment, **{key: str(told[key]) for key in told}},
        )

    def ask(self, question):
        ranks, arguments = settings_of(question)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        started = [self.start(rank, ranks, port, arguments) for rank in range(ranks)]
        try:
            said = [process.communicate(timeout=self.most_seconds)[0] for process in started]
        except subprocess.TimeoutExpired:
            said = [""]
        finally:
            for process in started:
                process.kill()
        codes = [process.wait() for process in started]
        return seconds_of(self.command, codes, said[0], self.log), ""

    def close(self):
        pass
