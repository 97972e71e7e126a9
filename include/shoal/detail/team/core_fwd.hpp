#pragma once
// Names of the core of a team.

namespace shoal {

class TeamCore;

// The names by which the code of messages and of completion calls it.
namespace messaging {
using Channel = TeamCore;
}
namespace term {
using Scope = TeamCore;
}

}  // namespace shoal
