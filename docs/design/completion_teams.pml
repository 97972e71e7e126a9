/* Completion with teams: the world, scope 0, and teams nested in it, each with a detector of its own,
 * for exhaustive search by Spin. completion.md says what is covered, what is left out, and why.
 *
 * A main function may make a team, if its rank is a member, wait in it, and end it; in a team it waits in wait(),
 * or in a collective operation, which a handler ends. Members need not agree: a program in which one
 * waits for a team that another never makes is among those that are searched, and must be found stuck.
 * Main functions, and tasks and handlers of any scope, send at most SENDS messages and create at most
 * TASKS tasks, in any scope that exists on their rank. A message for a team that does not exist there yet is held.
 *
 * Teams: 1 is made of the ranks 0 to TEAM - 1, 2 of the ranks 1 to TEAM: they overlap.
 * READS_APART: the counters of a snapshot are read one by one, and work goes on in between.
 * BROKEN_...: a defect that the search must find. See tests/model/check_completion.
 */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef TEAM
#define TEAM RANKS
#endif
#ifndef SCOPES
#define SCOPES 2
#endif
#ifndef ARITY
#define ARITY 1
#endif
#ifndef WAITS
#define WAITS 1
#endif
#ifndef TEAM_WAITS
#define TEAM_WAITS 0
#endif
#ifndef SENDS
#define SENDS 1
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef OPERATIONS
#define OPERATIONS 0
#endif
#ifndef RETRIES
#define RETRIES 1
#endif

#define here (_pid % RANKS)
#define scope (_pid / RANKS)
#define at(s, r) ((s) * RANKS + (r))
#define first_of(s) ((s) == 2 -> 1 : 0)
#define size_of(s) ((s) == 0 -> RANKS : TEAM)
#define is_member(s, r) ((r) >= first_of(s) && (r) < first_of(s) + size_of(s))
#define me (here - first_of(scope))
#define is_root (me == 0)
#define child(k) (me * ARITY + 1 + (k))
#define has_child(k) (child(k) < size_of(scope))
#define node(member) at(scope, first_of(scope) + (member))

#if RANKS == 2
#define any_rank(condition) (condition(0) || condition(1))
#elif RANKS == 3
#define any_rank(condition) (condition(0) || condition(1) || condition(2))
#else
#error "write out any_rank() for another number of ranks"
#endif
#if SCOPES == 2
#define sum_here(counter) (counter[here] + counter[RANKS + here])
#define any_team(condition) condition(1)
#else
#define sum_here(counter) (counter[here] + counter[RANKS + here] + counter[2 * RANKS + here])
#define any_team(condition) (condition(1) || condition(2))
#endif

#define ALL (SCOPES * RANKS)

/* --- of each scope on each rank */
byte created[ALL];   /* tasks */
byte finished[ALL];
byte queued[ALL];    /* messages */
byte processed[ALL];
byte travelling[ALL];
byte handling[ALL];
bool exists[ALL];
bool ended[ALL];     /* all members have waited for its end; the one here has not gone on yet */
bool left[ALL];      /* it has */
bool ending[ALL];    /* its member waits for its end */
bool operates[ALL];  /* its member waits in a collective operation */
bool stood[ALL];     /* somebody waits in it: of the world, the main function in wait() */
bool wake_due[ALL];  /* the wait is over, and who waits is about to be woken */
byte parks[ALL];
byte epoch_of[ALL] = 1;
bool looks[ALL];     /* holds the lock of the scope */

/* --- of each rank: its main function */
mtype = { works_on, enlisted, parked_in_team };
mtype stage[RANKS] = works_on;
bool woke[RANKS];
byte returned[RANKS]; /* waits in the world */
byte team_waits_left[RANKS] = TEAM_WAITS;
byte held[RANKS];     /* messages for teams that do not exist here yet */
bool opened[RANKS];

byte completions[SCOPES];
bool was_quiet[SCOPES]; /* since its last completion, at some moment */
byte sends_left = SENDS;
byte tasks_left = TASKS;
byte operations_left = OPERATIONS;
byte retries;
bool verdict_given;

/* --- what is true */

#define is_ending(r) ((exists[at(1, r)] && ending[at(1, r)]) || \
                      (SCOPES > 2 && exists[at(SCOPES - 1, r)] && ending[at(SCOPES - 1, r)]))
#define has_team(r) (exists[at(1, r)] || (SCOPES > 2 && exists[at(SCOPES - 1, r)]))
#define is_free(r) (stage[r] == works_on && !stood[at(0, r)] && returned[r] < WAITS)
#define works(r) (is_free(r) && !is_ending(r))
#define has_things(i) (created[i] > finished[i] || handling[i] > 0)
#define acts (has_things(_pid) || (scope == 0 && works(here)))
/* Something of the program runs on r, or is about to. */
#define moves(r) \
  (is_free(r) || stage[r] == enlisted || woke[r] || opened[r] || has_things(at(0, r)) || \
   travelling[at(0, r)] > 0 || team_moves(1, r) || (SCOPES > 2 && team_moves(SCOPES - 1, r)))
#define team_moves(s, r) \
  (has_things(at(s, r)) || wake_due[at(s, r)] || (travelling[at(s, r)] > 0 && exists[at(s, r)]))
/* Members that have not heard of a completion. */
#define is_untold(s, r) (is_member(s, r) && exists[at(s, r)] && epoch_of[at(s, r)] <= completions[s])
/* A member whom a team need not wait for. */
#define is_waiting(s, r) \
  (!is_member(s, r) || left[at(s, r)] || (exists[at(s, r)] && stood[at(s, r)] && !operates[at(s, r)]))
#define has_left(s, r) (!is_member(s, r) || left[at(s, r)])
#if RANKS == 2
#define any_untold(s) (is_untold(s, 0) || is_untold(s, 1))
#define all_waiting(s) (is_waiting(s, 0) && is_waiting(s, 1))
#define all_left(s) (has_left(s, 0) && has_left(s, 1))
#define is_quiet_on(s, r) (!has_things(at(s, r)) && travelling[at(s, r)] == 0)
#define nothing_in(s) (is_quiet_on(s, 0) && is_quiet_on(s, 1))
#define all_held (held[0] + held[1])
#define all_ending(s) (is_over(s, 0) && is_over(s, 1))
#else
#define any_untold(s) (is_untold(s, 0) || is_untold(s, 1) || is_untold(s, 2))
#define all_waiting(s) (is_waiting(s, 0) && is_waiting(s, 1) && is_waiting(s, 2))
#define all_left(s) (has_left(s, 0) && has_left(s, 1) && has_left(s, 2))
#define is_quiet_on(s, r) (!has_things(at(s, r)) && travelling[at(s, r)] == 0)
#define nothing_in(s) (is_quiet_on(s, 0) && is_quiet_on(s, 1) && is_quiet_on(s, 2))
#define all_held (held[0] + held[1] + held[2])
#define all_ending(s) (is_over(s, 0) && is_over(s, 1) && is_over(s, 2))
#endif
#define is_over(s, r) (!is_member(s, r) || left[at(s, r)] || ending[at(s, r)])
#define completes(s) (any_untold(s) || (all_waiting(s) && !all_left(s)))
#define can_move (any_rank(moves) || any_team(completes))
/* The work of a team is done, and all its members wait for that: not that nothing outside adds more. */
#define is_quiet_team(s) (nothing_in(s) && all_waiting(s) && !any_untold(s))
#define quiet_world (!any_rank(moves) && nothing_in(0) && nothing_in(1) && nothing_in(SCOPES - 1))

inline note_quiet(s) { was_quiet[s] = was_quiet[s] || is_quiet_team(s) }
inline note_all_quiet() {
  note_quiet(1);
#if SCOPES > 2
  note_quiet(2)
#else
  skip
#endif
}

/* --- control messages */

#define ROOM 6

chan up[ALL] = [ROOM] of { mtype, byte, byte, byte, byte, byte };
chan down[ALL] = [ROOM] of { mtype, byte, byte, byte };

#define send_up(kind, number, q, p, u) \
  assert(nfull(up[_pid])); up[_pid]!kind(epoch, number, q, p, u)
#define send_down(k, kind, w, v) \
  assert(nfull(down[node(child(k))])); down[node(child(k))]!kind(epoch, w, v)

/* --- snapshots */

#define epoch epoch_of[_pid]
#ifdef BROKEN_FORGETS_NESTED
#define sum_of(counter) counter[_pid]
#else
#define sum_of(counter) (scope > 0 -> counter[_pid] : sum_here(counter))
#endif
#ifndef READS_APART
#define look_finished sum_of(finished)
#define look_processed sum_of(processed)
#define look_queued sum_of(queued)
#define look_created sum_of(created)
#endif

#ifdef BROKEN_FORGETS_STANDING
#define in_team true
#else
#define in_team (stage[here] == parked_in_team && !woke[here])
#endif
#ifdef BROKEN_FORGETS_WAKES
#define no_wake_due true
#elif SCOPES == 2
#define no_wake_due (!wake_due[at(1, here)])
#else
#define no_wake_due (!wake_due[at(1, here)] && !wake_due[at(2, here)])
#endif
#define main_is_idle \
  (scope > 0 -> stood[_pid] : \
   stood[_pid] || (in_team && returned[here] < WAITS && no_wake_due))
#define no_task (look_finished == look_created)
#define is_idle (main_is_idle && no_task && !opened[here])
#define held_now (scope > 0 -> 0 : held[here])
#define waits_for_other (scope > 0 -> operates[_pid] : !stood[_pid])
#define unsatisfied_now (waits_for_other + held_now)
#define parks_now parks[_pid]
/* What was reported last is what this rank has confirmed. */
#define note_reported() is_confirmed = is_confirmed && is_as_reported
#define note_confirmed() is_confirmed = true

#include "detector.pml"

/* --- Scope */

hidden byte got_all_final;

inline tell_child_all_final(k) {
  if
  :: has_child(k) -> send_down(k, done, got_unsatisfied, got_all_final)
  :: else
  fi
}

/* A part of the report of a world that is stuck. What the messages carry stands here. */
bool part_changed;
bool part_given[ALL];
bool part_final[ALL];
bool part_left[ALL];
byte part_count[ALL];
byte part_epoch[ALL];

inline give_team_part(s) {
  part_left[at(s, here)] = left[at(s, here)];
  if
  :: exists[at(s, here)] ->
    part_given[at(s, here)] = true;
    part_final[at(s, here)] = stood[at(s, here)] && ending[at(s, here)];
    part_count[at(s, here)] = (stood[at(s, here)] && !operates[at(s, here)] -> 0 : 1);
    part_epoch[at(s, here)] = epoch_of[at(s, here)]
  :: else
  fi
}

/* A look in one step: what it sees apart, the other looks do. */
#define is_idle_now (main_is_idle && sum_of(finished) == sum_of(created) && !opened[here])
#define is_as_reported_now \
  (sum_of(finished) == reported_tasks && sum_of(processed) + held_now == reported_processed && \
   sum_of(queued) == reported_queued && parks_now == reported_parks)
#ifdef BROKEN_COMPARES_LAST_LOOK
#define is_unchanged (is_idle_now && is_as_reported_now)
#elif defined(BROKEN_IGNORES_CHANGES)
#define is_unchanged true
#else
#define is_unchanged (is_idle_now && is_as_reported_now && is_confirmed)
#endif

inline give_part() {
  part_changed = part_changed || !is_unchanged;
  give_team_part(1);
#if SCOPES > 2
  give_team_part(2)
#else
  skip
#endif
}

#define given(s, m) part_given[at(s, first_of(s) + (m))]
#if RANKS == 2
#define members_given(s) (part_given[at(s, 0)] + part_given[at(s, 1)])
#define count_given(s) (part_count[at(s, 0)] + part_count[at(s, 1)])
#define same_epoch(s) \
  (!part_given[at(s, 0)] || !part_given[at(s, 1)] || part_epoch[at(s, 0)] == part_epoch[at(s, 1)])
#define all_final_given(s) (is_final_part(s, 0) && is_final_part(s, 1))
#else
#define members_given(s) (part_given[at(s, 0)] + part_given[at(s, 1)] + part_given[at(s, 2)])
#define count_given(s) (part_count[at(s, 0)] + part_count[at(s, 1)] + part_count[at(s, 2)])
#define same_pair(s, a, b) \
  (!part_given[at(s, a)] || !part_given[at(s, b)] || part_epoch[at(s, a)] == part_epoch[at(s, b)])
#define same_epoch(s) (same_pair(s, 0, 1) && same_pair(s, 1, 2) && same_pair(s, 0, 2))
#define all_final_given(s) (is_final_part(s, 0) && is_final_part(s, 1) && is_final_part(s, 2))
#endif
#define is_final_part(s, r) (!part_given[at(s, r)] || part_final[at(s, r)])

#ifdef BROKEN_IGNORES_STATES
#define differs(s) false
#else
#define differs(s) (!same_epoch(s))
#endif
#ifdef BROKEN_IGNORES_COMPLETION
#define is_about_to_complete(s) false
#else
/* Where members are missing, they have left. The first member was the first to. */
#ifdef BROKEN_MISSES_MEMBERS
#define first_has_left(s) true
#else
#define first_has_left(s) part_left[at(s, first_of(s))]
#endif
#define is_about_to_complete(s) \
  (count_given(s) == 0 && \
   (members_given(s) == size_of(s) || (all_final_given(s) && first_has_left(s))))
#endif
#define is_to_come(s) (members_given(s) > 0 && (differs(s) || is_about_to_complete(s)))

/* The root has all parts. */
inline decide() {
  if
  :: part_changed || any_team(is_to_come) -> retries++
  :: else ->
    too_early = (can_move -> 1 : 0);
    assert(too_early == 0);
    verdict_given = true
  fi;
  part_changed = false;
  got_number = 0;
  do
  :: got_number < ALL ->
    part_given[got_number] = false;
    part_final[got_number] = false;
    part_left[got_number] = false;
    part_count[got_number] = 0;
    part_epoch[got_number] = 0;
    got_number++
  :: else -> break
  od
}

inline on_stuck_part() {
  parts_missing--;
  if
  :: parts_missing == 0 && !is_root -> send_up(stuck_part, 0, 0, 0, 0)
  :: parts_missing == 0 && is_root -> decide()
  :: else
  fi
}

inline on_done() {
  each_child(tell_child_all_final);
  epoch++;
  must_report = true;
  if
  :: scope > 0 ->
    assert(stood[_pid]);
    stood[_pid] = false;
    wake_due[_pid] = true;
    operates[_pid] = false;
    if
    :: got_all_final ->
      assert(ending[_pid] && travelling[_pid] == 0);
      ended[_pid] = true
    :: else
    fi
  :: scope == 0 && got_unsatisfied == 0 ->
    assert(stood[_pid]);
    stood[_pid] = false;
    returned[here]++
  :: else ->
    assert(parts_missing == 0);
    parts_missing = 1;
    each_child(await_part);
    give_part();
    on_stuck_part()
  fi
}

inline completed() {
  add_subtree();
  got_unsatisfied = sum_unsatisfied;
  if
#ifndef BROKEN_DECIDES
  :: scope > 0 && got_unsatisfied > 0 /* only the world decides that something is stuck */
#endif
  :: scope > 0 && got_unsatisfied == 0 ->
    too_early = (was_quiet[scope] -> 0 : 1);
    assert(too_early == 0);
    was_quiet[scope] = false;
    completions[scope]++;
    got_all_final = all_ending(scope);
    on_done()
#ifdef BROKEN_DECIDES
  :: scope > 0 && got_unsatisfied > 0 ->
    too_early = (can_move -> 1 : 0);
    assert(too_early == 0);
    verdict_given = true
#endif
  :: scope == 0 ->
    too_early = (got_unsatisfied > 0 || quiet_world -> 0 : 1);
    assert(too_early == 0);
    completions[0]++;
    on_done()
  fi
}

inline from_child(k) {
  up[node(child(k))]?got(got_epoch, got_number, got_queued, got_processed, got_unsatisfied);
  if
  :: got == report -> on_report(k)
  :: got == confirmation -> on_confirmation()
  :: else -> on_stuck_part()
  fi
}

inline from_parent() {
  down[_pid]?got(got_epoch, got_number, got_version);
  if
  :: got == request -> on_request()
  :: else -> got_unsatisfied = got_number; got_all_final = got_version; on_done()
  fi
}

/* Whoever acts here may use the scope; others than its own things not while its member waits for its
 * end: what they made would come too late. */
#define may_use(s) (exists[at(s, here)] && (scope == (s) || !ending[at(s, here)]))

inline choose_scope() {
  if
  :: true -> in = 0
  :: may_use(1) -> in = 1
#if SCOPES > 2
  :: may_use(2) -> in = 2
#endif
  fi
}

inline stand_in(s) {
  stood[at(s, here)] = true;
  parks[at(s, here)]++;
  stage[here] = enlisted;
  note_quiet(s)
}

inline leave(s) {
  if
  :: ended[at(s, here)] ->
    ended[at(s, here)] = false;
    exists[at(s, here)] = false;
    left[at(s, here)] = true
  :: else
  fi
}

#define can_stand(s) (exists[at(s, here)] && !looks[at(s, here)])

active [ALL] proctype Member() {
  byte in, to; /* within one step */
  byte version;
  byte wave;
  byte missing;
  bool must_report = true;
  bool is_confirmed;
  byte reported_tasks, reported_processed, reported_queued, reported_unsatisfied, reported_parks;
  byte child_epoch[ARITY], child_version[ARITY];
  byte child_queued[ARITY], child_processed[ARITY], child_unsatisfied[ARITY];
  byte parts_missing;
#ifdef READS_APART
  mtype look = nothing;
  byte reads_done, look_wave, look_finished, look_processed, look_queued, look_created;
#define locked (look != nothing)
#else
#define locked false
#endif

  do
  :: verdict_given || !is_member(scope, here) -> break
  :: returned[here] == WAITS && !exists[_pid] -> break

  /* The program. */
  :: atomic {
      !verdict_given && acts && sends_left > 0 ->
      sends_left--;
      choose_scope();
      queued[at(in, here)]++;
      if
      :: is_member(in, 0) -> to = 0
      :: is_member(in, 1) -> to = 1
#if RANKS > 2
      :: is_member(in, 2) -> to = 2
#endif
      fi;
      travelling[at(in, to)]++;
      in = 0;
      to = 0
    }
  :: atomic {
      !verdict_given && acts && tasks_left > 0 ->
      tasks_left--;
      choose_scope();
      created[at(in, here)]++;
      in = 0
    }
  :: d_step { created[_pid] > finished[_pid] -> finished[_pid]++; note_all_quiet() }
  :: d_step {
      travelling[_pid] > 0 && (scope == 0 || exists[_pid]) ->
      travelling[_pid]--;
      handling[_pid]++
    }
  :: d_step { handling[_pid] > 0 -> processed[_pid]++; handling[_pid]--; note_all_quiet() }
  :: d_step {
      scope > 0 && travelling[_pid] > 0 && !exists[_pid] && !opened[here] ->
      assert(!left[_pid]);
      travelling[_pid]--;
      held[here]++
    }
  :: d_step {
      scope > 0 && opened[here] && exists[_pid] ->
      opened[here] = false;
      travelling[_pid] = travelling[_pid] + held[here];
      held[here] = 0
    }

  /* The main function. It makes a team, and stands in it: first there, then as the world sees it. */
  :: d_step {
      scope > 0 && is_member(scope, here) && works(here) && !exists[_pid] && !left[_pid] ->
      exists[_pid] = true;
      opened[here] = held[here] > 0
    }
  :: d_step {
      scope > 0 && works(here) && can_stand(scope) && team_waits_left[here] > 0 ->
      team_waits_left[here]--;
      stand_in(scope)
    }
  :: d_step {
      scope > 0 && works(here) && can_stand(scope) && operations_left > 0 ->
      operations_left--;
      operates[_pid] = true;
      stand_in(scope)
    }
  :: d_step {
      scope > 0 && can_stand(scope) &&
      (works(here) || (is_free(here) && exists[_pid] && ending[_pid])) ->
      ending[_pid] = true;
      stand_in(scope)
    }
  :: d_step {
      scope == 0 && !locked && stage[here] == enlisted ->
      stage[here] = parked_in_team;
      parks[_pid]++
    }
  :: d_step { scope > 0 && wake_due[_pid] && !looks[at(0, here)] -> wake_due[_pid] = false; woke[here] = true }
  :: d_step {
      scope == 0 && woke[here] && stage[here] == parked_in_team ->
      woke[here] = false;
      stage[here] = works_on;
      leave(1);
#if SCOPES > 2
      leave(2)
#endif
    }
  /* A handler of any scope ends the operation. */
  :: d_step {
      scope > 0 && !locked && operates[_pid] && stood[_pid] &&
      (handling[_pid] > 0 || handling[at(0, here)] > 0) ->
      operates[_pid] = false;
      stood[_pid] = false;
      wake_due[_pid] = true
    }
  :: d_step {
      scope == 0 && !locked && works(here) && (returned[here] + 1 < WAITS || !has_team(here)) ->
      stood[_pid] = true;
      parks[_pid]++
    }

  /* The control lane. */
  :: d_step { nempty(down[_pid]) && !locked && (scope == 0 || exists[_pid]) -> from_parent() }
  :: d_step {
      has_child(0) && nempty(up[node(child(0))]) && !locked && (scope == 0 || exists[_pid]) ->
      from_child(0)
    }
#if ARITY > 1
  :: d_step {
      has_child(1) && nempty(up[node(child(1))]) && !locked && (scope == 0 || exists[_pid]) ->
      from_child(1)
    }
#endif

  /* Detector::on_idle(). A world whose team is about to complete may find itself without work, and
   * look again, as often as it likes: RETRIES times here. */
#define may_look (all_children_reported && (scope > 0 || !is_root || retries <= RETRIES || !can_move))
#ifndef READS_APART
  :: d_step { !verdict_given && may_look && reports -> finish_look() }
#else
  :: d_step {
      !verdict_given && may_look && main_is_idle && !locked &&
      (must_report || can_move || sum_of(finished) != reported_tasks ||
       sum_of(queued) != reported_queued || sum_of(processed) + held_now != reported_processed ||
       parks_now != reported_parks) ->
      look = for_report;
      looks[_pid] = true
    }
  :: d_step { locked && reads_done == 0 -> look_finished = sum_of(finished); reads_done = 1 }
  :: d_step { reads_done == 1 -> look_processed = sum_of(processed); reads_done = 2 }
  :: d_step { reads_done == 2 -> look_queued = sum_of(queued); reads_done = 3 }
  :: d_step { reads_done == 3 -> look_created = sum_of(created); reads_done = 4 }
  :: d_step {
      reads_done == 4 ->
      got = look;
      look = nothing;
      if
      :: got == for_report -> finish_look()
      :: got == for_request -> finish_request_look(look_wave)
      :: else -> finish_root_look()
      fi;
      reads_done = 0;
      looks[_pid] = look != nothing;
      look_wave = (look == nothing -> 0 : look_wave);
      look_finished = 0;
      look_processed = 0;
      look_queued = 0;
      look_created = 0
    }
#endif
  od
}
