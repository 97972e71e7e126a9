#include <shoal/detail/term/sources.hpp>

#include <shoal/error.hpp>

#include <fmt/format.h>

namespace shoal::term {

std::uint64_t Sources::count() const {
  std::uint64_t count = 0;
  for (const Unsatisfied* source : sources_) count += source->unsatisfied_count();
  return count;
}

void Sources::describe(bool with_shared_teams, std::vector<std::string>& lines) const {
  for (const Unsatisfied* source : sources_) {
    try {  // names are made by code of the program
      for (std::string& line : source->describe_unsatisfied()) lines.push_back(std::move(line));
    } catch (...) {
      lines.push_back(fmt::format("waiting work could not be named: {}",
                                  shoal::describe(std::current_exception())));
    }
  }
  if (!with_shared_teams) return;
  for (const SharedTeam* team : teams_) {
    lines.push_back(team->describe());
  }
}

void Sources::tell_of_rest() const {
  for (Unsatisfied* source : sources_) source->at_rest();
}

bool Sources::tell_of_end() const {
  bool any = false;
  for (Unsatisfied* source : sources_) any = source->run_ended() || any;
  return any;
}

void refuse_after_run(const std::string& what) {
  throw CheckError(fmt::format(
      "{} is used after its run() has returned: each run has its own, which its main function is "
      "given, or makes and lets end",
      what));
}

void Sources::give_up(const Scope& failed, std::vector<GivenUp>& promises) const {
  for (Unsatisfied* source : sources_) source->give_up(failed, promises);
}

}  // namespace shoal::term
