#pragma once
// The graph of a flow, as it is inserted.

#include "flow/dependencies.hpp"
#include "flow/handle.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shoal::flow {

/// Writes the tasks of all ranks, their accesses, dependencies and transfers for Graphviz; the
/// tasks need not run. **Caller**: the inserters of rank 0.
class Dag {
 public:
  /// **Errors**: Error if the file cannot be made.
  Dag(std::string path, const std::string& flow);
  /// A graph that was not finished stays as far as it is.
  ~Dag() = default;
  Dag(const Dag&) = delete;
  Dag& operator=(const Dag&) = delete;

  /// Adds a task that runs on `rank`. `name` is that of its codelet.
  void add(std::string_view name, std::span<const Request> requests, int rank);
  /// Ends the file. **Errors**: Error if it was not written as a whole.
  void finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  /// A datum as far as tasks were inserted.
  struct Datum {
    AccessOrder order;
    std::uint64_t writer = 0;  // the last task that has written it; 0: none
    bool has_node = false;     // of its initial value
  };

  void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_.get()); }
  void add_access(std::uint64_t task, const Request& request, int rank) SHOAL_REQUIRES(mutex_);
  void add_transfer(const std::string& from, std::uint64_t to, const Handle& handle, int source,
                    int target);

  const std::string path_;
  sync::Mutex mutex_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unordered_map<std::uint64_t, Datum> data_ SHOAL_GUARDED_BY(mutex_);  // by id
  std::vector<int> ranks_ SHOAL_GUARDED_BY(mutex_) = {0};                   // by task, from 1
};

}  // namespace shoal::flow
