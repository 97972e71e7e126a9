#pragma once
// Memory of this process that other processes of the node can map.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::env {

/// Name of a shared piece of memory, for other processes. Plain data: it travels in messages.
struct SharedMemoryName {
  std::int64_t process = 0;  // its id
  std::int32_t descriptor = -1;
  std::uint32_t padding = 0;
  std::uint64_t token = 0;  // tells it from other memory of this name: of another name space, say
  std::uint64_t size_bytes = 0;
};

/// A range of zeros, mapped as a whole; pages are taken when they are first written. Other
/// processes of the same user on the node can map it, too, if it was made to be shared: it is an
/// anonymous file (memfd), which is limited by memory and not by the size of /dev/shm.
class SharedMemory {
 public:
  /// New memory. **Errors**: Error with the reason of the system and advice.
  SharedMemory(std::size_t size_bytes, bool shared);
  /// Maps the memory of another process. **Errors**: Error if there is none of this name that this
  /// process may map.
  explicit SharedMemory(const SharedMemoryName& name);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t size_bytes() const { return size_bytes_; }
  [[nodiscard]] SharedMemoryName name() const;
  /// Marks the memory as one that its owner has given up, for all that map it. Sequentially
  /// consistent, as is_given_up().
  void give_up();
  [[nodiscard]] bool is_given_up() const;
  /// Gives the pages of a range back to the system: it reads as zeros afterwards. `offset` and
  /// `size_bytes` in bytes; what is no whole page is overwritten with zeros.
  void clear(std::size_t offset, std::size_t size_bytes);

 private:
  struct FirstPage;
  void map(int descriptor);
  [[nodiscard]] FirstPage& first_page() const;

  const std::size_t size_bytes_;
  std::byte* mapping_ = nullptr;  // begins with the first page
  std::byte* data_ = nullptr;
  int descriptor_ = -1;  // -1: private memory, or that of another process
  std::uint64_t token_ = 0;
};

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
