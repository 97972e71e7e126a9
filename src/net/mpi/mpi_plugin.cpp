#include "net/mpi/mpi_plugin.hpp"

#include <shoal/error.hpp>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

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

namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> plugin_names{"openmpi", "mpich", "mpich_abi", "system", "abi"};

std::string file_name(const std::string& plugin) { return "libshoal_mpi_" + plugin + ".so"; }

/// The shared library, or the program, that contains this code.
std::string own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&load_mpi), &info) == 0) return "";
  return info.dli_fname;
}

/// Folders that the system's loader looks into for `file`, except by its cache.
std::vector<fs::path> loader_folders(const std::string& file) {
  void* handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) handle = dlopen(nullptr, RTLD_LAZY | RTLD_LOCAL);  // the program itself
  if (handle == nullptr) return {};
  std::vector<fs::path> folders;
  Dl_serinfo size{};
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::byte> memory(size.dls_size);
    auto* const info = reinterpret_cast<Dl_serinfo*>(memory.data());
    dlinfo(handle, RTLD_DI_SERINFOSIZE, info);
    if (dlinfo(handle, RTLD_DI_SERINFO, info) == 0) {
      for (unsigned i = 0; i < info->dls_cnt; ++i)
        folders.emplace_back(info->dls_serpath[i].dls_name);
    }
  }
  dlclose(handle);
  return folders;
}

std::vector<fs::path> plugin_folders() {
  std::vector<fs::path> folders;
  const auto add = [&](fs::path folder) {
    if (folder.empty()) return;
    folder = folder.lexically_normal();
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  };
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const std::string own = own_file();
  add(program.parent_path());
  if (own.find('/') != std::string::npos) add(fs::absolute(own, ignored).parent_path());
  for (fs::path& folder : loader_folders(own)) add(std::move(folder));
  return folders;
}

std::string names_of(const std::vector<fs::path>& folders) {
  std::string names;
  for (const fs::path& folder : folders) names.append(" ").append(folder.string());
  return names;
}

/// The file of a plug-in; "": it is in none of the folders.
std::string find_plugin(const std::vector<fs::path>& folders, const std::string& plugin) {
  std::error_code ignored;
  for (const fs::path& folder : folders) {
    if (fs::path file = folder / file_name(plugin); fs::exists(file, ignored)) return file;
  }
  return "";
}

struct Plugin {
  const MpiTable* table = nullptr;
  std::string name;
  std::string file;
  void* handle = nullptr;
};

/// One search for a plug-in, and what it has tried.
class Search {
 public:
  explicit Search(const MpiChoice& choice) : choice_(choice), in_process_(mpi_to_use()) {}

  Plugin run() {
    if (!choice_.plugin.empty()) return required({choice_.plugin}, named_problem());
    if (in_process_.has_value()) return for_process();
    if (choice_.is_of_program) {
      throw ConfigError(
          "a communicator was given, but this process has loaded no MPI as a shared library: link "
          "the program with that of its MPI, or shoal with -DSHOAL_MPI_STATIC");
    }
    if (!choice_.launcher_mpi.empty()) return for_launcher();
    if (!choice_.name.empty()) return required({choice_.name}, "--mpi names " + choice_.name);
    return the_only_one();
  }

 private:
  [[nodiscard]] std::optional<MpiInProcess> mpi_to_use() const;
  Plugin for_process();
  Plugin for_launcher();
  Plugin the_only_one();
  [[nodiscard]] std::string named_problem() const;
  /// The first one of `names` that can be used; a ConfigError that begins with `problem` if none.
  Plugin required(const std::vector<std::string>& names, const std::string& problem);
  /// Without a table if it cannot be used.
  Plugin open(const std::string& name);
  [[nodiscard]] std::string unfit(const Plugin& plugin) const;
  [[noreturn]] void give_up(const std::string& problem) const;

  const MpiChoice& choice_;
  const std::optional<MpiInProcess> in_process_;
  const std::vector<fs::path> folders_ = plugin_folders();
  MpiKind wanted_ = MpiKind::unknown;  // unknown: any
  std::string tried_;
};

MpiKind kind_of_name(const std::string& name) {
  for (const MpiKind kind : {MpiKind::openmpi, MpiKind::mpich, MpiKind::abi}) {
    if (name == kind_name(kind)) return kind;
  }
  return MpiKind::unknown;
}

// Several in one process: that of the program's mpi.h, or of the launcher.
std::optional<MpiInProcess> Search::mpi_to_use() const {
  std::vector<MpiInProcess> all = find_mpi_in_process();
  for (const std::string& name : {choice_.header, choice_.launcher_mpi}) {
    const MpiKind kind = kind_of_name(name);
    const auto is_other = [&](const MpiInProcess& mpi) { return mpi.kind != kind; };
    if (all.size() > 1 && !std::ranges::all_of(all, is_other)) std::erase_if(all, is_other);
  }
  if (all.empty()) return std::nullopt;
  if (all.size() == 1) return all.front();
  std::string files;
  for (const MpiInProcess& mpi : all) {
    files += fmt::format("{}{} ({})", files.empty() ? "" : " and ", kind_name(mpi.kind), mpi.file);
  }
  throw ConfigError(fmt::format(
      "this process has loaded several MPI libraries: {}. Load one of them, or pass a communicator "
      "of the one to use",
      files));
}

Plugin Search::for_process() {
  wanted_ = in_process_->kind;
  const std::string problem =
      fmt::format("this process has loaded {} ({})", kind_name(wanted_), in_process_->file);
  switch (wanted_) {
    case MpiKind::openmpi:
      return required({"openmpi", "system"}, problem);
    case MpiKind::mpich:
      return required({"mpich", "mpich_abi", "system"}, problem);
    case MpiKind::abi:
      return required({"abi", "system"}, problem);
    case MpiKind::unknown:
      break;
  }
  return required({"system", "abi"}, problem);
}

Plugin Search::for_launcher() {
  wanted_ = kind_of_name(choice_.launcher_mpi);
  const std::string by = choice_.launcher + " started this process";
  std::vector<std::string> names{"mpich", "mpich_abi", "system", "abi"};
  if (wanted_ == MpiKind::openmpi) names = {"openmpi", "system", "abi"};
  if (!choice_.name.empty()) {
    if (std::ranges::find(names, choice_.name) == names.end()) {
      throw ConfigError(fmt::format(
          "--mpi names {}, but {}: its processes would not find each other. Leave --mpi away, or "
          "use the launcher of that MPI",
          choice_.name, by));
    }
    names = {choice_.name};
  }
  return required(names, by);
}

Plugin Search::the_only_one() {
  std::vector<Plugin> found;
  for (const char* name : plugin_names) {
    if (Plugin plugin = open(name); plugin.table != nullptr) found.push_back(std::move(plugin));
  }
  if (found.size() == 1) return found.front();
  const std::string by = choice_.launcher + " started this process";
  if (found.empty()) give_up(by);
  std::string names;
  for (const Plugin& plugin : found) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", plugin.name,
                         library_version(*plugin.table));
    dlclose(plugin.handle);
  }
  throw ConfigError(fmt::format(
      "{}, which does not tell which MPI it is for, and shoal has plug-ins for several: {}. Choose "
      "the one that the launcher works with by --mpi NAME, or SHOAL_MPI=NAME in the environment",
      by, names));
}

std::string Search::named_problem() const {
  const std::string text = "SHOAL_MPI_PLUGIN or --mpi-plugin names " + choice_.plugin;
  if (!in_process_.has_value()) return text;
  return fmt::format("{}, and this process has loaded {} ({})", text, kind_name(in_process_->kind),
                     in_process_->file);
}

Plugin Search::required(const std::vector<std::string>& names, const std::string& problem) {
  for (const std::string& name : names) {
    if (Plugin plugin = open(name); plugin.table != nullptr) return plugin;
  }
  give_up(problem);
}

Plugin Search::open(const std::string& name) {
  Plugin plugin{nullptr, name, name, nullptr};
  if (name.find('/') == std::string::npos) {
    plugin.file = find_plugin(folders_, name);
    if (plugin.file.empty()) plugin.file = file_name(name);  // by the loader's cache
  }
  plugin.handle = dlopen(plugin.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (plugin.handle == nullptr) {
    const char* const error = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    tried_ += fmt::format("\n  {}", error != nullptr ? error : plugin.file);
    return plugin;
  }
  auto* const function =
      reinterpret_cast<shoal_mpi_table_function*>(dlsym(plugin.handle, SHOAL_MPI_TABLE_FUNCTION));
  if (function != nullptr) plugin.table = function();
  if (const std::string problem = unfit(plugin); !problem.empty()) {
    tried_ += fmt::format("\n  {}: {}", plugin.file, problem);
    dlclose(plugin.handle);
    plugin.table = nullptr;
  }
  return plugin;
}

/// Reason why a plug-in cannot be used; "": it can.
std::string Search::unfit(const Plugin& plugin) const {
  if (plugin.table == nullptr) return "is no plug-in of shoal";
  const MpiTable& table = *plugin.table;
  if (table.version != SHOAL_MPI_TABLE_VERSION || table.size_bytes != sizeof(MpiTable)) {
    return fmt::format(
        "belongs to another version of shoal (table {}, {} bytes; here {}, {} bytes)",
        table.version, table.size_bytes, SHOAL_MPI_TABLE_VERSION, sizeof(MpiTable));
  }
  const std::string file = mpi_file_seen_by(plugin.handle);
  if (in_process_.has_value()) return file == in_process_->file ? "" : "uses " + file;
  if (wanted_ == MpiKind::unknown) return "";
  const std::string version = library_version(table);
  return kind_of_version(version) == wanted_ ? "" : fmt::format("uses {} ({})", version, file);
}

void Search::give_up(const std::string& problem) const {
  throw ConfigError(fmt::format(
      "{}, but no plug-in of shoal for it can be loaded. Install that of this MPI (package "
      "shoal-openmpi or shoal-mpich; a build has it that was configured where Debian's "
      "libopenmpi-dev or libmpich-dev, or another MPI with its mpi.h, is installed), or name the "
      "plug-in's file by SHOAL_MPI_PLUGIN=FILE. Tried:{}\n  looked in:{}",
      problem, tried_, names_of(folders_)));
}

}  // namespace

const MpiTable& load_mpi(const MpiChoice& choice) {
  if (const MpiTable* const linked = linked_mpi()) {
    if (choice.plugin.empty()) return *linked;
    throw ConfigError(fmt::format(
        "SHOAL_MPI_PLUGIN or --mpi-plugin names {}, but this program has the MPI {} linked in "
        "(SHOAL_MPI_STATIC)",
        choice.plugin, linked->plugin));
  }
  return *Search(choice).run().table;
}

std::string describe_plugins(const MpiTable* loaded) {
  if (const MpiTable* const linked = linked_mpi()) {
    return fmt::format("{}, linked in", linked->plugin);
  }
  if (loaded != nullptr) {
    Dl_info info{};
    const bool is_known = dladdr(loaded, &info) != 0 && info.dli_fname != nullptr;
    return fmt::format("{} ({}), compiled with {}", loaded->plugin,
                       is_known ? info.dli_fname : "its file is not known", loaded->header);
  }
  const std::vector<fs::path> folders = plugin_folders();
  std::string found;
  for (const char* name : plugin_names) {
    const std::string file = find_plugin(folders, name);
    if (!file.empty()) found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", name, file);
  }
  if (!found.empty()) return found;
  return "none found in" + names_of(folders);
}

std::string first_line(std::string_view text) {
  std::string line(text.substr(0, text.find_first_of(",\n\r")));
  std::ranges::replace(line, '\t', ' ');
  const auto both_blank = [](char a, char b) { return a == ' ' && b == ' '; };
  line.erase(std::ranges::unique(line, both_blank).begin(), line.end());
  return line;
}

std::string library_version(const MpiTable& mpi) {
  std::array<char, 4096> text{};
  mpi_check(mpi, mpi.get_library_version(text.data(), text.size()), {"MPI_Get_library_version"});
  return first_line(text.data());
}

}  // namespace shoal::net
