//===- RankThreads.cpp - Threads that run step after step -------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankThreads.h"

#include <exception>

namespace cp {

std::string RankThreads::add() {
  try {
    threads.emplace_back(
        [this, rank = int64_t(threads.size())] { loop(rank); });
    return "";
  } catch (const std::exception &error) {
    return error.what();
  }
}

llvm::Expected<std::unique_ptr<RankThreads>>
RankThreads::create(int64_t ranks, std::function<void(int64_t)> work) {
  std::unique_ptr<RankThreads> made(new RankThreads(std::move(work)));
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (std::string wrong = made->add(); !wrong.empty())
      return llvm::createStringError(
          "expected a thread for each of " + std::to_string(ranks) +
          " ranks, but after " + std::to_string(rank) +
          " the system says: " + wrong +
          "; use fewer ranks or raise the limits on threads and memory "
          "(ulimit -u, ulimit -v)");
  return made;
}

RankThreads::~RankThreads() {
  start(/*isLast=*/true);
  for (std::thread &thread : threads)
    thread.join();
}

void RankThreads::start(bool isLast) {
  std::lock_guard<std::mutex> lock(mutex);
  isOver = isLast;
  busy = static_cast<int64_t>(threads.size());
  ++steps;
  changed.notify_all();
}

void RankThreads::step() {
  start(/*isLast=*/false);
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return busy == 0; });
}

void RankThreads::loop(int64_t rank) {
  for (int64_t step = 1;; ++step) {
    {
      std::unique_lock<std::mutex> lock(mutex);
      changed.wait(lock, [&] { return steps >= step; });
      if (isOver)
        return;
    }
    work(rank);
    std::lock_guard<std::mutex> lock(mutex);
    if (--busy == 0)
      changed.notify_all();
  }
}

} // namespace cp
