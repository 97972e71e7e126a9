#pragma once
// MPI libraries that a process has loaded already.

#include <string>
#include <string_view>
#include <vector>

namespace shoal::net {

/// Kinds of MPI libraries with a binary interface of their own.
enum class MpiKind { unknown, openmpi, mpich, abi };

/// "Open MPI", "MPICH", "the standard ABI", "an MPI".
const char* kind_name(MpiKind kind);
/// Kind by the text of MPI_Get_library_version(). MVAPICH, Intel MPI and Cray MPICH are of MPICH's.
MpiKind kind_of_version(std::string_view text);

struct MpiInProcess {
  std::string file;  // absolute, without symbolic links
  MpiKind kind = MpiKind::unknown;
};

/// The shared libraries of this process that define MPI_Init_thread() and PMPI_Init_thread().
/// Libraries of tools, which define the former only, are none. Whoever loaded them, with whichever
/// scope: the host of a plug-in, such as Python, may have loaded its MPI with RTLD_LOCAL.
std::vector<MpiInProcess> find_mpi_in_process();

/// The file that contains PMPI_Init_thread(), as a shared library sees it: `handle` of dlopen(); ""
/// if it sees none.
std::string mpi_file_seen_by(void* handle);

}  // namespace shoal::net
