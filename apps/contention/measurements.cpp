#include "contention/measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "common/input_error.hpp"

namespace contention {
namespace {

using apps::InputError;

constexpr std::string_view kTitle = "# shoal contention measurements, version 1";
constexpr int kMaxCount = 1 << 20;

template <class Enum>
using Words = std::vector<std::pair<Enum, std::string_view>>;

const Words<Kernel>& kernels() {
  static const Words<Kernel> all{{Kernel::none, "none"},     {Kernel::fill, "fill"},
                                 {Kernel::copy, "copy"},     {Kernel::triad, "triad"},
                                 {Kernel::primes, "primes"}, {Kernel::poll, "poll"}};
  return all;
}

const Words<Channel>& channels() {
  static const Words<Channel> all{{Channel::none, "none"},
                                  {Channel::mpi, "mpi"},
                                  {Channel::small, "small"},
                                  {Channel::large, "large"},
                                  {Channel::memory, "memory"}};
  return all;
}

const Words<Traffic>& traffics() {
  static const Words<Traffic> all{
      {Traffic::none, "none"}, {Traffic::receive, "receive"}, {Traffic::ping_pong, "ping-pong"}};
  return all;
}

template <class Enum>
std::string_view word_of(const Words<Enum>& words, Enum value) {
  return std::ranges::find(words, value, &std::pair<Enum, std::string_view>::first)->second;
}

template <class Enum>
Enum value_of(const Words<Enum>& words, std::string_view text) {
  std::string known;
  for (const auto& [value, its_word] : words) {
    if (its_word == text) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", its_word);
  }
  throw InputError(fmt::format("'{}' is none of {}", text, known));
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

template <class Number>
Number number_of(std::string_view text, Number least, Number most) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) ||
      !(value <= most)) {
    throw InputError(fmt::format("'{}' is no number from {} to {}", text, least, most));
  }
  return value;
}

int count_of(std::string_view text, int least = 0) { return number_of(text, least, kMaxCount); }

std::optional<double> quantity_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const double value = number_of(text, 0.0, std::numeric_limits<double>::max());
  if (value == 0) throw InputError("a measured value is 0: it must be positive");
  return value;
}

/// Columns of the file: how each is written and read.
struct Column {
  std::string_view name;
  std::string (*write)(const Sample&);
  void (*read)(Sample&, std::string_view);
  bool is_optional = false;  // files without it are read, too
};

std::string text_of(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : "";
}

const std::vector<Column>& columns() {
  using Text = std::string_view;
  static const std::vector<Column> all{
      {"kernel", [](const Sample& of) { return std::string(word(of.point.kernel)); },
       [](Sample& of, Text text) { of.point.kernel = kernel_of(text); }},
      {"work", [](const Sample& of) { return fmt::to_string(of.point.work); },
       [](Sample& of, Text text) { of.point.work = count_of(text); }},
      {"cores", [](const Sample& of) { return fmt::to_string(of.point.cores); },
       [](Sample& of, Text text) { of.point.cores = count_of(text); }},
      {"computation_node",
       [](const Sample& of) { return fmt::to_string(of.point.computation_node); },
       [](Sample& of, Text text) { of.point.computation_node = count_of(text); }},
      {"channel", [](const Sample& of) { return std::string(word(of.point.channel)); },
       [](Sample& of, Text text) { of.point.channel = channel_of(text); }},
      {"traffic", [](const Sample& of) { return std::string(word(of.point.traffic)); },
       [](Sample& of, Text text) { of.point.traffic = value_of(traffics(), text); }},
      {"message_bytes", [](const Sample& of) { return fmt::to_string(of.point.message_bytes); },
       [](Sample& of, Text text) {
         of.point.message_bytes = number_of<std::uint64_t>(text, 0, std::uint64_t{1} << 40);
       }},
      {"communication_node",
       [](const Sample& of) { return fmt::to_string(of.point.communication_node); },
       [](Sample& of, Text text) { of.point.communication_node = count_of(text); }},
      {"thread_node", [](const Sample& of) { return fmt::to_string(of.point.thread_node); },
       [](Sample& of, Text text) { of.point.thread_node = count_of(text); }},
      {"repetition", [](const Sample& of) { return fmt::to_string(of.repetition); },
       [](Sample& of, Text text) { of.repetition = count_of(text); }},
      {"computation_mb_s", [](const Sample& of) { return text_of(of.computation_mb_s); },
       [](Sample& of, Text text) { of.computation_mb_s = quantity_of(text); }},
      {"communication_mb_s", [](const Sample& of) { return text_of(of.communication_mb_s); },
       [](Sample& of, Text text) { of.communication_mb_s = quantity_of(text); }},
      {"latency_us", [](const Sample& of) { return text_of(of.latency_us); },
       [](Sample& of, Text text) { of.latency_us = quantity_of(text); }},
      {"core_mhz", [](const Sample& of) { return text_of(of.core_mhz); },
       [](Sample& of, Text text) { of.core_mhz = quantity_of(text); }},
      {"memory_mb_s", [](const Sample& of) { return text_of(of.memory_mb_s); },
       [](Sample& of, Text text) { of.memory_mb_s = quantity_of(text); }, true},
  };
  return all;
}

/// Reads a file line by line.
class Parser {
 public:
  Measurements parse(const std::string& text) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) break;  // an interrupted write
      ++line_;
      std::string_view line = rest.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      take(line);
      rest.remove_prefix(end + 1);
    }
    if (line_ == 0) throw InputError("the file is empty");
    if (!has_columns_) throw InputError("the line with the names of the columns is missing");
    return std::move(result_);
  }
  [[nodiscard]] std::size_t line() const { return std::max<std::size_t>(line_, 1); }

 private:
  void take(std::string_view line) {
    if (line_ == 1 && line != kTitle) {
      throw InputError(fmt::format("the first line must be '{}'", kTitle));
    }
    if (line.empty()) return;
    if (line.starts_with('#')) {
      if (line_ > 1) take_fact(line);
    } else if (!has_columns_) {
      check_machine();
      find_columns(split(line));
    } else {
      take_sample(split(line));
    }
  }

  void take_fact(std::string_view line) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos || colon < 2) return;  // a comment
    const std::string_view key = line.substr(2, colon - 2);
    const std::string_view value = line.substr(colon + 2);
    if (key == "note") result_.notes.emplace_back(value);
    if (key == "machine") result_.machine.name = value;
    if (key == "processor") result_.machine.processor = value;
    if (key == "cores") result_.machine.cores = count_of(value, 1);
    if (key == "nodes") result_.machine.nodes = count_of(value, 1);
    if (key == "nodes_per_socket") result_.machine.nodes_per_socket = count_of(value, 1);
    facts_[std::string(key)] = true;
  }

  void check_machine() const {
    for (const char* key : {"machine", "cores", "nodes", "nodes_per_socket"}) {
      if (facts_.contains(key)) continue;
      throw InputError(fmt::format("the line '# {}: ...' is missing above the columns", key));
    }
    if (result_.machine.nodes < result_.machine.nodes_per_socket) {
      throw InputError("more NUMA nodes in a socket than in the machine");
    }
  }

  void find_columns(const std::vector<std::string_view>& names) {
    for (const Column& column : columns()) {
      const auto found = std::ranges::find(names, column.name);
      if (found == names.end() && column.is_optional) {
        places_.push_back(kNowhere);
        continue;
      }
      if (found == names.end()) {
        throw InputError(fmt::format("the column '{}' is missing", column.name));
      }
      places_.push_back(static_cast<std::size_t>(found - names.begin()));
    }
    field_count_ = names.size();
    has_columns_ = true;
  }

  void take_sample(const std::vector<std::string_view>& fields) {
    if (fields.size() != field_count_) {
      throw InputError(
          fmt::format("{} values instead of {}, one for each column", fields.size(), field_count_));
    }
    Sample sample;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] == kNowhere) continue;
      try {
        columns()[i].read(sample, fields[places_[i]]);
      } catch (const InputError& error) {
        throw InputError(fmt::format("column '{}': {}", columns()[i].name, error.what()));
      }
    }
    const Point& point = sample.point;
    for (const int node : {point.computation_node, point.communication_node, point.thread_node}) {
      if (node < result_.machine.nodes) continue;
      throw InputError(fmt::format("NUMA node {}: the machine has nodes 0 to {}", node,
                                   result_.machine.nodes - 1));
    }
    if (point.cores > result_.machine.cores) {
      throw InputError(fmt::format("{} computing cores: the machine has {} for computation",
                                   point.cores, result_.machine.cores));
    }
    result_.samples.push_back(sample);
  }

  static constexpr std::size_t kNowhere = SIZE_MAX;

  Measurements result_;
  std::size_t line_ = 0;
  bool has_columns_ = false;
  std::size_t field_count_ = 0;
  std::vector<std::size_t> places_;  // of columns(), in the lines of the file
  std::map<std::string, bool> facts_;
};

}  // namespace

std::string_view word(Kernel kernel) { return word_of(kernels(), kernel); }
std::string_view word(Channel channel) { return word_of(channels(), channel); }
std::string_view word(Traffic traffic) { return word_of(traffics(), traffic); }
Kernel kernel_of(std::string_view text) { return value_of(kernels(), text); }
Channel channel_of(std::string_view text) { return value_of(channels(), text); }

std::string header_text(const Machine& machine, const std::vector<std::string>& notes) {
  std::string text = fmt::format(
      "{}\n# machine: {}\n# processor: {}\n# cores: {}\n# nodes: {}\n# nodes_per_socket: {}\n",
      kTitle, machine.name, machine.processor, machine.cores, machine.nodes,
      machine.nodes_per_socket);
  for (const std::string& note : notes) text += fmt::format("# note: {}\n", note);
  std::string names;
  for (const Column& column : columns()) {
    names += fmt::format("{}{}", names.empty() ? "" : ",", column.name);
  }
  return text + names + "\n";
}

std::string line_of(const Sample& sample) {
  std::string line;
  for (const Column& column : columns()) {
    line += fmt::format("{}{}", line.empty() ? "" : ",", column.write(sample));
  }
  return line + "\n";
}

Measurements parse(const std::string& text, const std::string& path) {
  Parser parser;
  try {
    return parser.parse(text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}:{}: {}", path, parser.line(), error.what()));
  }
}

Measurements read_measurements(const std::string& path) { return parse(read_text(path), path); }

std::string read_text(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw InputError(fmt::format("{}: cannot read this file", path));
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace contention
