#pragma once
// The terminal of an interactive program: a screen of its own, and single keys.

#include <termios.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::top {

/// Restores the terminal when it is destroyed. **Caller**: one at a time.
class Terminal {
 public:
  /// **Errors**: Error if standard input or output is no terminal.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] std::size_t columns() const;
  [[nodiscard]] std::size_t rows() const;
  /// Shows the first lines that there is room for.
  void show(const std::vector<std::string>& lines);
  /// Waits for a key, until `descriptor` is readable, or until the time is over. 0: no key.
  [[nodiscard]] static char wait_for_key(int descriptor, std::uint64_t timeout_ns);

 private:
  termios before_{};
};

}  // namespace shoal::top
