/*===- widest_mkl.c - Lets MKL use what the processor has ---------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MKL uses AVX-512 where this says so, and else only on processors of its own
// maker; what the processor can do it asks besides. Loaded before PyTorch, so
// that the peer runs at its widest instruction set.
//
//===----------------------------------------------------------------------===*/

int mkl_serv_intel_cpu_true(void);
int mkl_serv_intel_cpu_true(void) { return 1; }
