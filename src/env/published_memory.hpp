#pragma once
// Memory of a process that other processes of its user find by its name, and read.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::env {

/// A range of zeros in an anonymous file (memfd): it vanishes with the process, however that ends.
/// Pages are taken when they are first written.
class PublishedMemory {
 public:
  /// Publishes memory under a name. **Errors**: Error with the reason of the system.
  PublishedMemory(const std::string& name, std::size_t size_bytes);
  ~PublishedMemory();
  PublishedMemory(const PublishedMemory&) = delete;
  PublishedMemory& operator=(const PublishedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  /// Some reader holds it: see PublishedView::hold(). **Cost**: a system call or two.
  [[nodiscard]] bool is_held() const;

 private:
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  const std::size_t size_bytes_;
};

/// Place of the memory that a process has published.
struct PublishedPlace {
  std::int64_t process = 0;
  std::string path;
};

/// Memory of this name in the processes whose descriptors the calling process may see: those of
/// its user. A process that was forked shows the memory of its parent as well.
std::vector<PublishedPlace> find_published(const std::string& name);

/// The memory of another process, to be read only. It stays when the process ends.
class PublishedView {
 public:
  /// Maps the memory of another process. **Errors**: Error if the process has ended, or belongs to
  /// another user.
  explicit PublishedView(const PublishedPlace& place);
  ~PublishedView();
  PublishedView(const PublishedView&) = delete;
  PublishedView& operator=(const PublishedView&) = delete;

  [[nodiscard]] const std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  /// Lets the process know that it is read, until this is destroyed or the reader ends (a
  /// shared lock of the file: nothing is written). False: try again later.
  [[nodiscard]] bool hold() const;

 private:
  int descriptor_ = -1;
  const std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace shoal::env
