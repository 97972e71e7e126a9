#include <shoal/detail/team/archive_core.hpp>
#include <shoal/error.hpp>

#include <fmt/format.h>

namespace shoal::wire {

void throw_short_message(std::size_t offset, std::size_t wanted_bytes,
                         std::size_t available_bytes) {
  throw DecodeError(
      fmt::format("message is truncated or corrupt: at offset {} wanted {} bytes, {} available",
                  offset, wanted_bytes, available_bytes));
}

void throw_bad_count(std::size_t offset, std::uint64_t count, std::size_t element_bytes,
                     std::size_t available_bytes) {
  throw DecodeError(
      fmt::format("message is truncated or corrupt: at offset {} wanted {} elements of at least {} "
                  "bytes, {} bytes available",
                  offset, count, element_bytes, available_bytes));
}

void throw_bad_value(std::size_t offset, const char* what, std::uint64_t value) {
  throw DecodeError(
      fmt::format("message is corrupt: at offset {} the {} is {}", offset, what, value));
}

void throw_trailing_bytes(std::size_t consumed_bytes, std::size_t size_bytes) {
  throw DecodeError(
      fmt::format("message is corrupt: at offset {} wanted the end, {} bytes available",
                  consumed_bytes, size_bytes - consumed_bytes));
}

void throw_size_mismatch(std::size_t written_bytes, std::size_t size_bytes) {
  throw CheckError(
      fmt::format("a message of {} bytes was given {} bytes to write: serialize() must write the "
                  "same values each time it is called on an unchanged object",
                  size_bytes, written_bytes));
}

void throw_misaligned(std::size_t alignment) {
  throw CheckError(
      fmt::format("a view into a message that is not aligned to {} bytes: messages must start at a "
                  "multiple of {}",
                  alignment, max_alignment));
}

}  // namespace shoal::wire
