//===- Device.h - Where ranks have their tensors ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_DEVICE_H
#define CP_EXECUTION_DEVICE_H

#include "cp/Runtime/cprt_device.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace cp {

/// A device that a plug-in brings (see cprt_device.h), which stays loaded.
///
///   auto device = Device::load("/usr/lib/libcprt_cuda.so");
///   options.device = *device;
///   program->run(inputs, options);
class Device {
public:
  /// Errors: no such file; what exports no cprt_device_open; what that says,
  /// of a machine without such a device, for example.
  static llvm::Expected<std::shared_ptr<Device>> load(const std::string &path);
  /// The plug-in of this name, as Transport::find finds one.
  static llvm::Expected<std::string> find(llvm::StringRef name,
                                          const std::string &program);
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  ~Device();

  const cprt_device &get() const { return device; }
  llvm::StringRef name() const { return device.name; }

private:
  Device() = default;

  cprt_device device = {};
};

} // namespace cp

#endif // CP_EXECUTION_DEVICE_H
