//===- PairedTable.h - Products of bf16 on any processor --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_KERNELS_PAIREDTABLE_H
#define CP_UNITTESTS_KERNELS_PAIREDTABLE_H

#include "fast/Table.h"

namespace cp::kernels::test {

/// The kernels that multiply pairs of bf16, for processors that cannot: else
/// they would be tested only where the tests happen to run on one that can.
/// Static storage.
const fast::Table &pairedTable();

} // namespace cp::kernels::test

#endif // CP_UNITTESTS_KERNELS_PAIREDTABLE_H
