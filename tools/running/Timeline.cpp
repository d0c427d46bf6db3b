//===- Timeline.cpp - When ranks exchanged what -----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: "Trace Event Format", of the Chromium project.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"

#include "Saving.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace json = llvm::json;

namespace cp {

/// Rows of a rank: what it is in, and what goes on beside it.
static constexpr int64_t ownRow = 0, besideRow = 1;

static json::Object nameOf(llvm::StringRef kind, int64_t rank, int64_t row,
                           const std::string &name) {
  return json::Object{{"ph", "M"},
                      {"name", kind},
                      {"pid", rank},
                      {"tid", row},
                      {"args", json::Object{{"name", name}}}};
}

static json::Object eventOf(int64_t rank, const CollectiveRecord &record) {
  json::Object event{
      {"name", record.op},
      {"cat", "collective"},
      {"pid", rank},
      {"tid", record.isDeferred ? besideRow : ownRow},
      {"ts", 1e6 * record.start},
      {"args", json::Object{{"axes", json::Array(record.axes)},
                            {"call", record.call},
                            {"number", record.number},
                            {"bytes_sent", record.bytesSent},
                            {"exposed_seconds", record.exposedSeconds}}}};
  event["ph"] = record.seconds ? "X" : "B";
  if (record.seconds)
    event["dur"] = 1e6 * *record.seconds;
  return event;
}

json::Value timelineOf(llvm::ArrayRef<RankHistory> ranks) {
  json::Array events;
  for (const RankHistory &each : ranks) {
    events.push_back(nameOf("process_name", each.rank, ownRow,
                            "rank " + std::to_string(each.rank)));
    events.push_back(nameOf("thread_name", each.rank, ownRow, "collectives"));
    events.push_back(
        nameOf("thread_name", each.rank, besideRow, "collectives beside them"));
    for (const CollectiveRecord &record : each.records)
      events.push_back(eventOf(each.rank, record));
  }
  return json::Object{{"traceEvents", std::move(events)}};
}

std::string timelineFile(const RunFlags &flags) {
  // All of a job may write to one device.
  llvm::sys::fs::file_status status;
  bool isDevice = !llvm::sys::fs::status(flags.timeline, status) &&
                  !llvm::sys::fs::is_regular_file(status);
  if (flags.timeline.empty() || !flags.job || isDevice)
    return flags.timeline;
  llvm::SmallString<128> file(flags.timeline);
  llvm::StringRef extension = llvm::sys::path::extension(flags.timeline);
  llvm::sys::path::replace_extension(file, std::to_string(flags.job->rank()) +
                                               extension);
  return file.str().str();
}

void keepTimeline(const RunFlags &flags, RunOptions &run) {
  if (flags.timeline.empty())
    return;
  run.onEnd = [tool = flags.tool,
               file = timelineFile(flags)](llvm::ArrayRef<RankHistory> ranks) {
    if (llvm::Error error = writeJson(file, timelineOf(ranks)))
      llvm::errs() << tool << ": warning: --timeline: "
                   << llvm::toString(std::move(error)) << "\n";
  };
}

} // namespace cp
