#include "net/mpi/mpi_in_process.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <system_error>

namespace shoal::net {

namespace {

std::string real_path(const char* file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(file, error);
  return error ? std::string(file) : path.string();
}

/// The file that defines `symbol` for `handle`; "" if none does.
std::string file_of_symbol(void* handle, const char* symbol) {
  const void* const address = dlsym(handle, symbol);
  Dl_info info{};
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return real_path(info.dli_fname);
}

MpiKind kind_of_library(void* handle, const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  if (name.starts_with("libmpi_abi")) return MpiKind::abi;
  if (dlsym(handle, "ompi_mpi_comm_world") != nullptr) return MpiKind::openmpi;
  if (dlsym(handle, "MPIR_Dup_fn") != nullptr) return MpiKind::mpich;
  return MpiKind::unknown;
}

// Without the main program and the kernel's own object, which have no name.
int note_name(dl_phdr_info* object, std::size_t /*size*/, void* names) {
  if (object->dlpi_name != nullptr && object->dlpi_name[0] == '/') {
    static_cast<std::vector<std::string>*>(names)->emplace_back(object->dlpi_name);
  }
  return 0;
}

}  // namespace

const char* kind_name(MpiKind kind) {
  switch (kind) {
    case MpiKind::openmpi:
      return "Open MPI";
    case MpiKind::mpich:
      return "MPICH";
    case MpiKind::abi:
      return "the standard ABI";
    case MpiKind::unknown:
      break;
  }
  return "an MPI";
}

MpiKind kind_of_version(std::string_view text) {
  if (text.starts_with("Open MPI")) return MpiKind::openmpi;
  for (const char* name : {"MPICH", "MVAPICH", "Intel(R) MPI"}) {
    if (text.find(name) != std::string_view::npos) return MpiKind::mpich;
  }
  return MpiKind::unknown;
}

// dlopen() takes a lock that dl_iterate_phdr() holds while it calls: names first.
std::vector<MpiInProcess> find_mpi_in_process() {
  std::vector<std::string> names;
  dl_iterate_phdr(&note_name, &names);
  std::vector<MpiInProcess> found;
  for (const std::string& name : names) {
    void* const handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    // A library sees what those that it needs define, too.
    const std::string file = real_path(name.c_str());
    if (file_of_symbol(handle, "MPI_Init_thread") == file && mpi_file_seen_by(handle) == file) {
      found.push_back({file, kind_of_library(handle, file)});
    }
    dlclose(handle);
  }
  return found;
}

std::string mpi_file_seen_by(void* handle) { return file_of_symbol(handle, "PMPI_Init_thread"); }

}  // namespace shoal::net
