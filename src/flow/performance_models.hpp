#pragma once
// Expected run times of tasks, from those that ran before.

#include <shoal/detail/sync/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

/// Run times of tasks by codelet and size of the data, kept in a file of the machine.
///
/// A size that was seen often enough has its mean. Another one has the value of a power law through
/// the means of the codelet's sizes. **Caller**: any thread. **Source**: StarPU's history-based and
/// non-linear-regression models.
class PerformanceModels {
 public:
  /// Times of one codelet and size.
  struct History {
    std::uint64_t count = 0;  // of measured tasks
    double mean_ns = 0;       // of their times
    double squares = 0;       // sum of the squared differences from the mean

    /// Adds the times of another history.
    void merge(const History& other);
  };

  /// Makes models without a file.
  PerformanceModels() = default;
  /// Reads `path`, which need not exist; with `read_only` it stays as it is. **Errors**:
  /// ConfigError, with the line, for a file that is no file of models.
  explicit PerformanceModels(std::string path, bool read_only = false);
  /// Writes the file as save() does; problems are reported on standard error.
  ~PerformanceModels();
  PerformanceModels(const PerformanceModels&) = delete;
  PerformanceModels& operator=(const PerformanceModels&) = delete;

  /// File of this machine in a directory: DIRECTORY/HOST.models.
  [[nodiscard]] static std::string path_in(const std::string& directory);

  /// Adds the run time of a task.
  void add(std::string_view codelet, std::size_t size_bytes, double ns);
  /// Returns the expected time, or nothing if there are too few times of the codelet.
  [[nodiscard]] std::optional<double> predict(std::string_view codelet,
                                              std::size_t size_bytes) const;
  /// Returns the times of this codelet and size, with count 0 if there are none.
  [[nodiscard]] History history(std::string_view codelet, std::size_t size_bytes) const;
  /// Adds the new times to those in the file, which is replaced as a whole. When two processes do
  /// so at the same time, the times of one may be lost. **Errors**: ConfigError.
  void save();

 private:
  using Sizes = std::map<std::size_t, History>;
  using All = std::map<std::string, Sizes, std::less<>>;

  static constexpr std::uint64_t kEnough = 3;  // times of one size

  [[nodiscard]] static All load(const std::string& path);
  static void merge(All& into, const All& from);

  const std::string path_;
  const bool read_only_ = false;
  mutable sync::Mutex mutex_;
  All all_ SHOAL_GUARDED_BY(mutex_);
  All added_ SHOAL_GUARDED_BY(mutex_);  // since the file was read or written
};

}  // namespace shoal
