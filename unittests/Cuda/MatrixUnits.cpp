//===- MatrixUnits.cpp - Fragments and their products ---------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Executor.h"

namespace cp::kernels::cuda::exec {

void loadMatrices(uint32_t (&to)[4], const uint16_t *row, bool transposed,
                  int line) {
  note(row, 16, false, line);
  struct Load : Part {
    const uint16_t *row;
    bool transposed;
    uint32_t (*to)[4];
    void together(Part *const (&parts)[lanes]) override {
      auto at = [&](int lane) -> Load & {
        return static_cast<Load &>(*parts[lane]);
      };
      for (int matrix = 0; matrix < 4; ++matrix)
        for (int lane = 0; lane < lanes; ++lane) {
          auto element = [&](int i) -> uint32_t {
            int major = lane / 4, minor = lane % 4 * 2 + i;
            return transposed ? at(matrix * 8 + minor).row[major]
                              : at(matrix * 8 + major).row[minor];
          };
          (*at(lane).to)[matrix] = element(0) | element(1) << 16;
        }
    }
  } mine;
  mine.row = row;
  mine.transposed = transposed;
  mine.to = &to;
  collect(mine, line);
}

namespace {
struct Product : Part {
  float (*d)[4];
  uint32_t a[4], b[2];

  static float half(uint32_t pair, int i) {
    return widenedBits(uint16_t(i ? pair >> 16 : pair));
  }
  void together(Part *const (&parts)[lanes]) override {
    float A[16][16], B[16][8];
    for (int lane = 0; lane < lanes; ++lane) {
      auto &from = static_cast<Product &>(*parts[lane]);
      int q = lane / 4, r = lane % 4 * 2;
      for (int i = 0; i < 2; ++i) {
        for (int part = 0; part < 4; ++part)
          A[q + part % 2 * 8][r + i + part / 2 * 8] = half(from.a[part], i);
        for (int part = 0; part < 2; ++part)
          B[r + i + part * 8][q] = half(from.b[part], i);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      auto &to = static_cast<Product &>(*parts[lane]);
      for (int i = 0; i < 4; ++i) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float sum = 0;
        for (int k = 0; k < 16; ++k)
          sum += A[row][k] * B[k][column];
        (*to.d)[i] += sum;
      }
    }
  }
};
} // namespace

void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
              int line) {
  Product mine;
  mine.d = &d;
  std::memcpy(mine.a, a, sizeof mine.a);
  mine.b[0] = b0;
  mine.b[1] = b1;
  collect(mine, line);
}

} // namespace cp::kernels::cuda::exec
