#pragma once
// The search for the MPI of a process, and its plug-in.

#include <string>
#include <string_view>
#include <vector>

#include "net/mpi/mpi_check.hpp"
#include "net/mpi_transport.hpp"

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

/// Table that the library was linked with (SHOAL_MPI_STATIC); nullptr: it loads a plug-in.
const MpiTable* linked_mpi();

/// Loads the plug-in of the MPI that `choice` leads to. In this order:
/// 1. the MPI that is in the process already: no second one is ever loaded;
/// 2. MpiChoice::plugin;
/// 3. the MPI that the launcher belongs to;
/// 4. MpiChoice::name;
/// 5. the only one that can be loaded.
///
/// A plug-in is the file libshoal_mpi_NAME.so. It is looked for beside the executable, beside the
/// library that contains this function, and where the system's loader looks on behalf of that:
/// LD_LIBRARY_PATH, its RUNPATH, the system's folders. It is loaded with RTLD_LOCAL and stays.
///
/// **Errors**: ConfigError when none fits, with everything that was tried, and when several do.
/// **Caller**: the main thread, before MPI is initialized.
const MpiTable& load_mpi(const MpiChoice& choice);

/// Returns a text for reports: the plug-in that was loaded, or, for nullptr, those that exist, with
/// their files.
std::string describe_plugins(const MpiTable* loaded);

/// The beginning of a text of MPI_Get_library_version(): name and version, on one line.
std::string first_line(std::string_view text);
/// The name and version that the MPI of a table gives itself, on one line.
std::string library_version(const MpiTable& mpi);

}  // namespace shoal::net
