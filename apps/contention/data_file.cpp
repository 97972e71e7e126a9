#include "contention/data_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/input_error.hpp"

namespace contention {

using apps::InputError;

DataFile::DataFile(std::string path, const Machine& machine, const std::vector<std::string>& notes)
    : path_(std::move(path)) {
  content_.machine = machine;
  std::error_code ignored;
  const bool is_new = apps::is_standard_output(path_) || !std::filesystem::exists(path_, ignored) ||
                      (std::filesystem::is_regular_file(path_, ignored) &&
                       std::filesystem::file_size(path_, ignored) == 0);
  // A device is written, not read.
  if (!is_new && !std::filesystem::is_character_file(path_, ignored)) {
    content_ = read_measurements(path_);
    if (content_.machine != machine) {
      throw InputError(fmt::format(
          "{}: these measurements are of {} with {} computing cores and {} NUMA nodes, and this is "
          "{} with {} and {}: choose another file",
          path_, content_.machine.name, content_.machine.cores, content_.machine.nodes,
          machine.name, machine.cores, machine.nodes));
    }
  }
  for (const std::string& note : notes) {
    if (std::ranges::find(content_.notes, note) == content_.notes.end()) {
      content_.notes.push_back(note);
    }
  }
  // Written anew, without a line that an interruption left unfinished.
  std::string text = header_text(content_.machine, content_.notes);
  for (const Sample& sample : content_.samples) {
    text += line_of(sample);
    ++repetitions_[sample.point];
  }
  file_ = apps::OutputFile(path_);
  write(text);
}

int DataFile::repetitions(const Point& point) const {
  const auto found = repetitions_.find(point);
  return found == repetitions_.end() ? 0 : found->second;
}

void DataFile::add(const Sample& sample) {
  content_.samples.push_back(sample);
  ++repetitions_[sample.point];
  write(line_of(sample));
}

void DataFile::write(const std::string& text) {
  file_.write(text);
  if (!file_.is_good()) throw InputError(fmt::format("{}: cannot write this file", path_));
}

}  // namespace contention
