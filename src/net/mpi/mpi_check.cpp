#include "net/mpi/mpi_check.hpp"

#include <shoal/base/error.hpp>

#include <fmt/format.h>

#include <array>

namespace shoal::net {

namespace {

std::string describe(const MpiCall& call) {
  std::string text = call.name;
  if (call.process != MpiCall::kNone) text += fmt::format(" in process {}", call.process);
  if (call.peer == MPI_ANY_SOURCE) {
    text += ", any peer";
  } else if (call.peer != MpiCall::kNone) {
    text += fmt::format(", peer process {}", call.peer);
  }
  if (call.tag != MpiCall::kNone) text += fmt::format(", tag {}", call.tag);
  return text;
}

}  // namespace

std::string mpi_error_text(int result) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (MPI_Error_string(result, text.data(), &length) != MPI_SUCCESS) {
    return fmt::format("error code {}", result);
  }
  return {text.data(), static_cast<std::size_t>(length)};
}

void throw_mpi_error(int result, const MpiCall& call) {
  int kind = MPI_ERR_OTHER;
  if (MPI_Error_class(result, &kind) != MPI_SUCCESS) kind = MPI_ERR_OTHER;
  const char* const hint =
      kind == MPI_ERR_TRUNCATE
          ? "truncated: more bytes arrived than the receiver made room for; sender and receiver "
            "disagree about the size"
          : "look at the launcher's output for a process or a network that failed";
  throw TransportError(
      fmt::format("{} failed: {} ({})", describe(call), mpi_error_text(result), hint));
}

}  // namespace shoal::net
