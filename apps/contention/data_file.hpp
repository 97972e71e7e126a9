#pragma once
// The file of measurements while they are made.

#include <map>
#include <string>
#include <vector>

#include "common/output_file.hpp"
#include "contention/measurements.hpp"

namespace contention {

/// Collects samples and writes each one at once, so that an interrupted program can go on.
class DataFile {
 public:
  /// Reads the file if it is there, and goes on with it. `path` may be standard output.
  /// Errors: InputError when the file is of another machine, is not a file of measurements, or
  /// cannot be written.
  DataFile(std::string path, const Machine& machine, const std::vector<std::string>& notes);

  /// Number of repetitions of a point that are there.
  [[nodiscard]] int repetitions(const Point& point) const;
  /// Adds a repetition. Errors: InputError when it cannot be written.
  void add(const Sample& sample);

  /// All that is in the file.
  [[nodiscard]] const Measurements& measurements() const { return content_; }

 private:
  void write(const std::string& text);

  std::string path_;
  Measurements content_;
  std::map<Point, int> repetitions_;
  apps::OutputFile file_;
};

}  // namespace contention
