# Planted bugs of the sequential flow that its random programs must find: see shoal_add_mutant().

shoal_add_mutant_reference(random_flow_program SEEDS 200)

# Dependencies: a task writes while others still read.
shoal_add_mutant(
  flow_write_after_read flow/instance.cpp
  "if (admits(access.mode)) {"
  "if (admits(access.mode) || (first_ == nullptr && kind_ == Mode::read)) {"
  PROGRAM random_flow_program)

# Dependencies: a task that reads overtakes one that waits to write before it.
shoal_add_mutant(
  flow_read_after_write flow/instance.cpp
  "if (admits(access.mode)) {"
  "if (admits(access.mode) ||
      (granted_ > 0 && kind_ == Mode::read && access.mode == Mode::read)) {"
  PROGRAM random_flow_program)

# Dependencies: of several accesses of a group, the last but one grants the next group.
shoal_add_mutant(
  flow_early_release flow/instance.cpp
  "if (--granted_ == 0) {"
  "if (--granted_ <= 1) {"
  PROGRAM random_flow_program)

# Commutative accesses do not exclude each other.
shoal_add_mutant(
  flow_commutative flow/instance.cpp
  "accesses[i].instance->try_take_turn()) continue;"
  "(static_cast<void>(accesses[i].instance->try_take_turn()), true)) continue;"
  PROGRAM random_flow_program)

# Reductions: a task that only reads does not wait for the partial values.
shoal_add_mutant(
  flow_reduction flow/inference.cpp
  "mode != Mode::reduction && mode != Mode::scratch) [[unlikely]] {
    combine(handle);"
  "writes(mode)) [[unlikely]] {
    combine(handle);"
  PROGRAM random_flow_program)

# Scratch memory is given to other tasks while a task still uses it.
shoal_add_mutant(
  flow_scratch flow/task.cpp
  "        if (is_spare(access.mode) && access.object != nullptr) {
          access.instance->put_spare(access.object);
        }
      }
    }
  };
  {
    const Spares spares{*this};
    for (Access& access : accesses()) access.object = nullptr;
    for (Access& access : accesses()) access.object = object_for(access);"
  "        if (access.mode == Mode::reduction && access.object != nullptr) {
          access.instance->put_spare(access.object);
        }
      }
    }
  };
  {
    const Spares spares{*this};
    for (Access& access : accesses()) access.object = nullptr;
    for (Access& access : accesses()) access.object = object_for(access);
    for (Access& access : accesses()) {
      if (access.mode == Mode::scratch) access.instance->put_spare(access.object);
    }"
  PROGRAM random_flow_program)

# Parts of a datum are written while the whole is still read.
shoal_add_mutant(
  flow_partition flow/partition.cpp
  "list_[0] = {.instance = &whole, .task = this, .mode = Mode::read_write};"
  "list_[0] = {.instance = &whole, .task = this, .mode = Mode::read};"
  PROGRAM random_flow_program)

# Caches: one in four changes of a datum leaves a copy of the value before.
shoal_add_mutant(
  flow_stale_copy flow/inference.cpp
  "if (rank_ == handle.owner || handle.current == nullptr) return;"
  "if (rank_ == handle.owner || handle.current == nullptr || handle.epoch % 4 == 0) return;"
  PROGRAM random_flow_program)

# Caches: after a migration the new owner takes old copies for its value.
shoal_add_mutant(
  flow_migration flow/inference.cpp
  "handle.owner = rank;  // what the old one has becomes a copy
  ++handle.epoch;"
  "handle.owner = rank;  // what the old one has becomes a copy"
  PROGRAM random_flow_program)

# Transfers: a version is sent again to a rank that has it.
shoal_add_mutant(
  flow_transfer_twice flow/inference.cpp
  "if (std::exchange(peer.epoch, handle.epoch) != handle.epoch) {"
  "if (peer.epoch = handle.epoch; true) {"
  PROGRAM random_flow_program)

# Transfers: a destination that joins a send which is just leaving is lost.
shoal_add_mutant(
  flow_transfer_lost flow/instance.cpp
  "if (open_send_ == list) open_send_ = nullptr;"
  ""
  PROGRAM random_flow_program)

# Transfers: a send of a later version joins that of an earlier one.
shoal_add_mutant(
  flow_versions flow/instance.cpp
  "if (access.mode != Mode::read && open_send_ != nullptr) open_send_ = nullptr;"
  ""
  PROGRAM random_flow_program)

# Transfers: a value that was written on a rank which did not read it before does not go back.
shoal_add_mutant(
  flow_write_back flow/inference.cpp
  "if (!writes(request.mode) || handle.owner == rank) continue;"
  "if (!writes(request.mode) || !reads(request.mode) || handle.owner == rank) continue;"
  PROGRAM random_flow_program)

# Transfers: a sent value may change before it has left.
shoal_add_mutant(
  flow_sent_value flow/transfers.cpp
  "large_.multicast(recipients_of(some, tree_), payload, id, report, [release, encoded] {});"
  "large_.multicast(recipients_of(some, tree_), payload, id, report, [encoded] {});"
  PROGRAM random_flow_program)

# Broadcasts: a received value may change while it is passed on.
shoal_add_mutant(
  flow_forwarding flow/transfers.cpp
  "match.forwarding->keeps = hold;"
  ""
  PROGRAM random_flow_program)

# Broadcasts: a recipient passes on a segment that it does not have yet.
shoal_add_mutant(
  flow_segment am/payload_cast.cpp
  "if (cast->here[i]) send_segment(cast, i, child);"
  "send_segment(cast, i, child);"
  PROGRAM random_flow_program)

# Early values: the report on values that came after their receive is forgotten.
shoal_add_mutant(
  flow_report flow/transfers.cpp
  "return match.report ? taken : 0;"
  "return match.report && match.early ? taken : 0;"
  PROGRAM random_flow_program)

# Pruned flows: ranks break ties of the placement by the load that each of them sees.
shoal_add_mutant(
  flow_pruned_ties flow/sequence.cpp
  "const std::uint64_t key = options_.pruned"
  "const std::uint64_t key = hash == 0"
  PROGRAM random_flow_program)
