# Planted bugs that shoal-explore must find: see shoal_add_mutant().

# The queue: a task bound to a worker wakes any worker of the rank.
shoal_add_mutant(
  queue sched/scheduler.cpp
  "idle_workers_.wake(WorkerId(home));"
  "wake_one();")

# The flush: of several packets that wait, the last one, which is not full, is left behind.
shoal_add_mutant(
  flush net/link.cpp
  "if (open_ != nullptr) taken.push_back"
  "if (open_ != nullptr && taken.empty()) taken.push_back")

# Completion: a rank confirms without a second look at what it reported. Rare: 16 of 6000 seeds with
# these options, one with those of the others.
shoal_add_mutant(
  completion_second_look term/detector.cpp
  "|| must_report_) return;
  if (host_.snapshot() != reported_) {"
  "|| must_report_) return;
  if (false) {"
  WORLD --ranks 3 --workers 2)

# Completion: the root asks for confirmation though messages are under way.
shoal_add_mutant(
  completion_sums term/detector.cpp
  "if (sum.queued != sum.processed) return false;"
  "")

# Held messages: those that came before their handler was made stay held if they are few.
shoal_add_mutant(
  held am/messenger.cpp
  "    if (messenger_.backlog_->count() == 0) return;"
  "    if (messenger_.backlog_->count() < 3) return;")

# Parking: waking a bound task wakes any worker of the rank.
shoal_add_mutant(
  parked_wake sched/suspend.cpp
  "owner.scheduler().idle_workers().wake(owner.id());"
  "owner.scheduler().wake_one();"
  PROGRAM random_event_program)

# Semaphores: a permit that is handed to a task that waits is free as well.
shoal_add_mutant(
  semaphore_hand_over sched/locks.cpp
  "woken = waiters_.take(count);
      permits_ += count;"
  "permits_ += count;
    woken = waiters_.take(count);"
  PROGRAM random_event_program)

# Events: one to a single rank overtakes those to all ranks that were fired before it.
shoal_add_mutant(
  event_order event/order.cpp
  "&& needed <= other.count) {"
  "&& (!parcel.to_all || needed <= other.count)) {"
  PROGRAM random_event_program)

# Named locks: a task that waits for events keeps those that it has.
shoal_add_mutant(
  wait_locks event/wait.cpp
  "core_.locks_.wait_without([this] { wait_here(); });"
  "wait_here();"
  PROGRAM random_event_program)

# Remote promises: once one was fulfilled, a slot that is in use is given out again.
shoal_add_mutant(
  promise_numbers am/reply.cpp
  "slot.next_free = std::exchange(first_free, index);"
  "slots.back().next_free = std::exchange(first_free, index < count ? count - 1 : index);"
  PROGRAM random_event_program)

# Objects: a context runs a second invocation while its first one waits for a result.
shoal_add_mutant(
  object_context object/run_queue.cpp
  "if (!context.is_busy && !context.is_blocked) make_ready(context);"
  "if (!context.is_blocked) make_ready(context);"
  PROGRAM random_object_program)

# Objects: one in eight invocations has no order.
shoal_add_mutant(
  object_order object/objects.cpp
  "if (order == Order::none) return"
  "if (order == Order::none || turn_->fresh_context() % 8 == 0) return"
  PROGRAM random_object_program)

# Objects: the turn that a runner hands to a task which waits for it is free as well.
shoal_add_mutant(
  object_turn object/turn.cpp
  "taken_ = next != nullptr;"
  "taken_ = false;"
  PROGRAM random_object_program)
