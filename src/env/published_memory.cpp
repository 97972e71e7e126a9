#include "env/published_memory.hpp"

#include <shoal/error.hpp>

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "env/fresh_mapping.hpp"

namespace shoal::env {

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
