# Planted bugs that shoal-explore must find: see shoal_add_mutant().

# The queue: a task bound to a worker wakes any worker of the rank.
shoal_add_mutant(
  queue sched/scheduler.cpp
  "wake(WorkerId(home));
    return;"
  "wake_one();
    return;")

# The flush: of several packets that wait, the last one, which is not full, is left behind.
shoal_add_mutant(
  flush net/link.cpp
  "if (open_ != nullptr) taken.push_back"
  "if (open_ != nullptr && taken.empty()) taken.push_back")

# Completion: a rank confirms without a second look at what it reported.
shoal_add_mutant(
  completion_second_look term/detector.cpp
  "|| must_report_) return;
  if (host_.snapshot() != reported_) {"
  "|| must_report_) return;
  if (false) {")

# Completion: the root asks for confirmation though messages are under way.
shoal_add_mutant(
  completion_sums term/detector.cpp
  "if (sum.queued != sum.processed) return false;"
  "")

# Held messages: those that came before their handler was made stay held if they are few.
shoal_add_mutant(
  held am/messenger.cpp
  "  if (held_count() == 0) return;
  instances_grew_"
  "  if (held_count() < 3) return;
  instances_grew_")
