#include "env/shared_memory.hpp"

#include <shoal/error.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "env/freed_memory.hpp"

namespace shoal::env {

namespace {

constexpr std::size_t kFirstPage = 4096;        // of every page size that there is, a divisor
constexpr std::size_t kGiveBackMin = 1U << 16;  // smaller ranges are cheaper to overwrite

[[noreturn]] void refuse(const char* call, std::size_t size_bytes) {
  throw Error(
      fmt::format("{} MiB of address space for a heap: {} failed ({}); ask for less "
                  "(--global-heap, --local-heap), or raise the limit (ulimit -v)",
                  size_bytes >> 20U, call, std::generic_category().message(errno)));
}

std::uint64_t new_token(const void* address) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const auto here = reinterpret_cast<std::uintptr_t>(address);
  return (static_cast<std::uint64_t>(now) * 0x9E3779B97F4A7C15U) ^ here ^
         (static_cast<std::uint64_t>(getpid()) << 32U);
}

}  // namespace

/// The page before the memory, as it is mapped.
struct SharedMemory::FirstPage {
  std::uint64_t token;
  std::atomic<std::uint32_t> given_up;
};

SharedMemory::FirstPage& SharedMemory::first_page() const {
  return *reinterpret_cast<FirstPage*>(mapping_);
}

void SharedMemory::give_up() { first_page().given_up.store(1); }
bool SharedMemory::is_given_up() const { return first_page().given_up.load() != 0; }

SharedMemory::SharedMemory(std::size_t size_bytes, bool shared) : size_bytes_(size_bytes) {
  if (shared) {
    descriptor_ = memfd_create("shoal", MFD_CLOEXEC);
    if (descriptor_ < 0) refuse("memfd_create()", size_bytes);
    if (ftruncate(descriptor_, static_cast<off_t>(kFirstPage + size_bytes)) != 0) {
      close(descriptor_);
      refuse("ftruncate()", size_bytes);
    }
  }
  map(descriptor_);
  token_ = new_token(mapping_);
  if (shared) first_page().token = token_;
}

SharedMemory::SharedMemory(const SharedMemoryName& name)
    : size_bytes_(name.size_bytes), token_(name.token) {
  const std::string path = fmt::format("/proc/{}/fd/{}", name.process, name.descriptor);
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) {
    throw Error(fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  struct stat status {};
  std::uint64_t token = 0;
  const bool ours = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                    static_cast<std::uint64_t>(status.st_size) == kFirstPage + name.size_bytes &&
                    pread(descriptor, &token, sizeof(token), 0) == sizeof(token) &&
                    token == name.token;
  if (!ours) {
    close(descriptor);
    throw Error(fmt::format("{}: it is not the memory of this name", path));
  }
  try {
    map(descriptor);
  } catch (...) {
    close(descriptor);
    throw;
  }
  close(descriptor);
}

void SharedMemory::map(int descriptor) {
  const int kind = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* const memory = mmap(nullptr, kFirstPage + size_bytes_, PROT_READ | PROT_WRITE,
                            kind | MAP_NORESERVE, descriptor, 0);
  if (memory == MAP_FAILED) {
    if (descriptor_ >= 0) close(descriptor_);
    refuse("mmap()", size_bytes_);
  }
  mapping_ = static_cast<std::byte*>(memory);
  data_ = mapping_ + kFirstPage;
  forget_frames(mapping_, kFirstPage);  // the heap does so for what it allocates
}

SharedMemory::~SharedMemory() {
  munmap(mapping_, kFirstPage + size_bytes_);
  if (descriptor_ >= 0) close(descriptor_);
}

SharedMemoryName SharedMemory::name() const {
  return {getpid(), descriptor_, 0, token_, size_bytes_};
}

void SharedMemory::clear(std::size_t offset, std::size_t size_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t begin = kFirstPage + offset;
  const std::size_t end = begin + size_bytes;
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = end / page * page;
  const auto give_back = [&] {
    if (descriptor_ < 0) return madvise(mapping_ + first, last - first, MADV_DONTNEED) == 0;
    return fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(first), static_cast<off_t>(last - first)) == 0;
  };
  if (size_bytes < kGiveBackMin || !give_back()) {
    std::memset(mapping_ + begin, 0, size_bytes);
    return;
  }
  std::memset(mapping_ + begin, 0, first - begin);
  std::memset(mapping_ + last, 0, end - last);
}

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& what) {
  throw Error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

bool is_number(std::string_view text, std::int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

PublishedMemory::PublishedMemory(const std::string& name, std::size_t size_bytes)
    : size_bytes_(size_bytes) {
  descriptor_ = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor_ < 0) refuse("memfd_create()");
  void* memory = MAP_FAILED;
  if (ftruncate(descriptor_, static_cast<off_t>(size_bytes)) == 0) {
    memory = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  descriptor_, 0);
  }
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    refuse("mmap() of published memory");
  }
  data_ = static_cast<std::byte*>(memory);
  forget_frames(data_, size_bytes_);
}

PublishedMemory::~PublishedMemory() {
  munmap(data_, size_bytes_);
  close(descriptor_);
}

bool PublishedMemory::is_held() const {
  if (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
  flock(descriptor_, LOCK_UN);
  return false;
}

std::vector<PublishedPlace> find_published(const std::string& name) {
  const std::string wanted = fmt::format("/memfd:{} (deleted)", name);
  std::vector<PublishedPlace> found;
  std::error_code ignored;  // processes end meanwhile, and those of others cannot be read
  for (const fs::directory_entry& process : fs::directory_iterator("/proc", ignored)) {
    std::int64_t id = 0;
    if (!is_number(process.path().filename().native(), id)) continue;
    fs::directory_iterator end;
    std::error_code error;
    for (fs::directory_iterator one(process.path() / "fd", error); !error && one != end;
         one.increment(error)) {
      std::error_code gone;
      if (fs::read_symlink(one->path(), gone).native() == wanted) {
        found.push_back({id, one->path().native()});
      }
    }
  }
  return found;
}

PublishedView::PublishedView(const PublishedPlace& place) {
  descriptor_ = open(place.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) refuse(place.path);
  struct stat status {};
  void* memory = MAP_FAILED;
  if (fstat(descriptor_, &status) == 0 && status.st_size > 0) {
    size_bytes_ = static_cast<std::size_t>(status.st_size);
    memory = mmap(nullptr, size_bytes_, PROT_READ, MAP_SHARED, descriptor_, 0);
  }
  if (memory == MAP_FAILED) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    refuse(place.path);
  }
  data_ = static_cast<const std::byte*>(memory);
  forget_frames(memory, size_bytes_);
}

PublishedView::~PublishedView() {
  munmap(const_cast<std::byte*>(data_), size_bytes_);
  close(descriptor_);
}

bool PublishedView::hold() const { return flock(descriptor_, LOCK_SH | LOCK_NB) == 0; }

}  // namespace shoal::env
