//===- Device.cpp - Where ranks have their tensors ------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Device.h"

#include "Plugin.h"

namespace cp {

llvm::Expected<std::shared_ptr<Device>> Device::load(const std::string &path) {
  llvm::Expected<void *> function =
      loadPlugin("device", path, "cprt_device_open");
  if (!function)
    return function.takeError();
  std::shared_ptr<Device> made(new Device);
  made->device.struct_size = sizeof(cprt_device);
  char message[512] = "";
  cprt_status status = reinterpret_cast<cprt_device_open_fn *>(*function)(
      &made->device, message, sizeof message);
  if (status != CPRT_OK) {
    made->device.destroy = nullptr;
    return llvm::createStringError(std::string(cprt_status_name(status)) +
                                   ": " + message);
  }
  return made;
}

llvm::Expected<std::string> Device::find(llvm::StringRef name,
                                         const std::string &program) {
  return findPlugin("device", name, program, "cprt_device_open",
                    "build with CUDA's compiler (scripts/build.sh cuda)");
}

Device::~Device() {
  if (device.destroy)
    device.destroy(device.state);
}

} // namespace cp
