#include "flow/performance_models.hpp"

#include "env/host.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>
#include <system_error>
#include <utility>

namespace shoal {

namespace {

constexpr std::string_view kTitle = "shoal performance models 1";

/// A power law time = factor * size^exponent.
std::optional<double> extrapolate(const std::map<std::size_t, PerformanceModels::History>& sizes,
                                  std::size_t size_bytes) {
  // Least squares on the logarithms, each size with the weight of its count.
  double n = 0;
  double x = 0;
  double y = 0;
  double xx = 0;
  double xy = 0;
  for (const auto& [size, history] : sizes) {
    if (size == 0 || history.mean_ns <= 0) continue;
    const auto weight = static_cast<double>(history.count);
    const double log_size = std::log(static_cast<double>(size));
    const double log_time = std::log(history.mean_ns);
    n += weight;
    x += weight * log_size;
    y += weight * log_time;
    xx += weight * log_size * log_size;
    xy += weight * log_size * log_time;
  }
  if (n == 0 || size_bytes == 0) return std::nullopt;
  const double spread = n * xx - x * x;
  constexpr double kFlat = 1e-9;
  const double exponent = spread > kFlat * n * n ? (n * xy - x * y) / spread : 1;
  return std::exp((y - exponent * x) / n + exponent * std::log(static_cast<double>(size_bytes)));
}

}  // namespace

void PerformanceModels::History::merge(const History& other) {
  if (other.count == 0) return;
  const auto mine = static_cast<double>(count);
  const auto others = static_cast<double>(other.count);
  const double difference = other.mean_ns - mean_ns;
  count += other.count;
  const auto total = static_cast<double>(count);
  mean_ns += difference * others / total;
  squares += other.squares + difference * difference * mine * others / total;
}

PerformanceModels::PerformanceModels(std::string path, bool read_only)
    : path_(std::move(path)), read_only_(read_only) {
  All all = load(path_);
  const sync::Lock lock(mutex_);
  all_ = std::move(all);
}

PerformanceModels::~PerformanceModels() {
  try {
    if (!path_.empty() && !read_only_) save();
  } catch (const std::exception& error) {
    env::write_to_standard_error({"shoal: warning: ", error.what(), "\n"});
  }
}

std::string PerformanceModels::path_in(const std::string& directory) {
  return (std::filesystem::path(directory) / (env::host_name() + ".models")).string();
}

void PerformanceModels::add(std::string_view codelet, std::size_t size_bytes, double ns) {
  const History one{.count = 1, .mean_ns = ns};
  const sync::Lock lock(mutex_);
  for (All* const all : {&all_, &added_}) {
    auto found = all->find(codelet);
    if (found == all->end()) found = all->emplace(std::string(codelet), Sizes()).first;
    found->second[size_bytes].merge(one);
  }
}

std::optional<double> PerformanceModels::predict(std::string_view codelet,
                                                 std::size_t size_bytes) const {
  const sync::Lock lock(mutex_);
  const auto sizes = all_.find(codelet);
  if (sizes == all_.end()) return std::nullopt;
  const auto seen = sizes->second.find(size_bytes);
  const bool is_seen = seen != sizes->second.end();
  if (is_seen && seen->second.count >= kEnough) return seen->second.mean_ns;
  if (const auto ns = extrapolate(sizes->second, size_bytes)) return ns;
  if (is_seen) return seen->second.mean_ns;
  return std::nullopt;
}

PerformanceModels::History PerformanceModels::history(std::string_view codelet,
                                                      std::size_t size_bytes) const {
  const sync::Lock lock(mutex_);
  const auto sizes = all_.find(codelet);
  if (sizes == all_.end()) return {};
  const auto found = sizes->second.find(size_bytes);
  return found != sizes->second.end() ? found->second : History();
}

// A line: size in bytes, count, mean, sum of squares, and the name, which may have spaces.
PerformanceModels::All PerformanceModels::load(const std::string& path) {
  All all;
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    throw ConfigError(fmt::format("{}: no regular file, for performance models, is there", path));
  }
  std::ifstream file(path);
  if (!file) return all;
  const std::locale& plain = std::locale::classic();  // the program may have set another one
  std::string line;
  int number = 0;
  const auto refuse = [&](std::string_view problem) {
    throw ConfigError(
        fmt::format("{}, line {}: {}; remove the file to begin anew", path, number, problem));
  };
  while (std::getline(file, line)) {
    if (++number == 1) {
      if (line != kTitle) refuse(fmt::format("'{}' expected", kTitle));
      continue;
    }
    std::istringstream fields(line);
    fields.imbue(plain);
    std::size_t size_bytes = 0;
    History history;
    std::string name;
    fields >> size_bytes >> history.count >> history.mean_ns >> history.squares >> std::ws;
    std::getline(fields, name);
    if (fields.fail() || name.empty() || history.count == 0) {
      refuse("a size, a count, a mean, a sum of squares and a name expected");
    }
    all[name][size_bytes].merge(history);
  }
  return all;
}

void PerformanceModels::merge(All& into, const All& from) {
  for (const auto& [name, sizes] : from) {
    for (const auto& [size, history] : sizes) into[name][size].merge(history);
  }
}

void PerformanceModels::save() {
  sync::locked(mutex_, [this]() SHOAL_REQUIRES(mutex_) {
    if (added_.empty()) return;
    All all = load(path_);
    merge(all, added_);
    std::filesystem::path path(path_);
    std::error_code error;
    if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
    if (std::filesystem::exists(path, error)) path = std::filesystem::canonical(path);
    const std::string fresh = fmt::format("{}.{}", path.string(), env::process_id());
    {
      std::ofstream file(fresh);
      file << kTitle << '\n';
      for (const auto& [name, sizes] : all) {
        for (const auto& [size, one] : sizes) {
          file << fmt::format("{} {} {} {} {}\n", size, one.count, one.mean_ns, one.squares, name);
        }
      }
      if (!file.flush()) {
        std::filesystem::remove(fresh, error);
        throw ConfigError(fmt::format("cannot write the performance models to {}", fresh));
      }
    }
    std::filesystem::rename(fresh, path, error);
    if (error) {
      throw ConfigError(
          fmt::format("cannot write the performance models to {}: {}", path_, error.message()));
    }
    all_ = std::move(all);
    added_.clear();
  });
}

}  // namespace shoal
