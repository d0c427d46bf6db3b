/*===- alltoall.c - MPI's all-to-all, timed -----------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: mpirun -n RANKS alltoall BYTES ROUNDS ITERATIONS
// Every rank sends BYTES to every rank. Prints the median over rounds of the
// seconds of one exchange, as rank 0 sees them, like the row all_to_all of
// cp-bench-worker.
//
//===----------------------------------------------------------------------===*/

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int byValue(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double secondsOf(const char *in, char *out, int bytes, int iterations) {
  double start = MPI_Wtime();
  for (int i = 0; i < iterations; ++i)
    MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
  return (MPI_Wtime() - start) / iterations;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int ranks, self;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &self);
  if (argc != 4) {
    fprintf(stderr, "usage: alltoall BYTES ROUNDS ITERATIONS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int bytes = atoi(argv[1]), rounds = atoi(argv[2]), iterations = atoi(argv[3]);
  size_t total = (size_t)bytes * (size_t)ranks;
  char *in = aligned_alloc(64, (total + 63) / 64 * 64);
  char *out = aligned_alloc(64, (total + 63) / 64 * 64);
  double *seconds = malloc((size_t)rounds * sizeof *seconds);
  memset(in, self + 1, total);
  memset(out, 0, total);
  secondsOf(in, out, bytes, iterations);
  for (int round = 0; round < rounds; ++round)
    seconds[round] = secondsOf(in, out, bytes, iterations);
  qsort(seconds, (size_t)rounds, sizeof *seconds, byValue);
  int wrong = 0;
  for (size_t i = 0; i < total; ++i)
    wrong |= out[i] != (char)(i / (size_t)bytes + 1);
  if (self == 0 && !wrong)
    printf("%.9g\n", seconds[rounds / 2]);
  free(in);
  free(out);
  free(seconds);
  MPI_Finalize();
  return wrong;
}
