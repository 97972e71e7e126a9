/* The completion protocol of src/team/detector.cpp and of the snapshots of src/team/completion.cpp, for
 * exhaustive search by Spin. completion.md says what is covered, what is left out, and why.
 *
 * A world is RANKS ranks in a tree of ARITY, whose main functions each call wait() WAITS times. They,
 * the tasks and the handlers send at most SENDS messages, create at most TASKS tasks and end at most
 * UNPARKS collective operations, and HELDS times a message finds no handler and is held back: in all;
 * who does what and when is open. So one search covers every program of that size, with empty ranks
 * and with all work in one place among them.
 *
 * READS_APART: the counters of a snapshot are read one by one, and work goes on in between.
 * BROKEN_...: a defect that the search must find. See tests/model/check_completion.
 */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef ARITY
#define ARITY 2
#endif
#ifndef WAITS
#define WAITS 2
#endif
#ifndef SENDS
#define SENDS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef UNPARKS
#define UNPARKS 0
#endif
#ifndef HELDS
#define HELDS 0
#endif

#if RANKS > 4 || ARITY > 3
#error "write out all_ranks() and the children for more"
#endif

#if RANKS == 1
#define all_ranks(condition) (condition(0))
#define all_held (held[0])
#elif RANKS == 2
#define all_ranks(condition) (condition(0) && condition(1))
#define all_held (held[0] + held[1])
#elif RANKS == 3
#define all_ranks(condition) (condition(0) && condition(1) && condition(2))
#define all_held (held[0] + held[1] + held[2])
#else
#define all_ranks(condition) (condition(0) && condition(1) && condition(2) && condition(3))
#define all_held (held[0] + held[1] + held[2] + held[3])
#endif

#define me _pid
#define is_root (me == 0)
#define child(k) (me * ARITY + 1 + (k))
#define has_child(k) (child(k) < RANKS)

/* --- what happens on the ranks, and what is counted. The only shared state besides the links. */

bool parked[RANKS];    /* the main function, in wait() or in a collective operation */
byte returned[RANKS];  /* waits of the main function that have returned */
byte parks[RANKS];
byte created[RANKS];   /* tasks */
byte finished[RANKS];
byte queued[RANKS];    /* messages */
byte processed[RANKS];
byte travelling[RANKS]; /* messages to the rank; unordered, which allows more than links do */
byte handling[RANKS];   /* handlers that have begun and not ended */
byte held[RANKS];       /* messages whose handler does not exist yet */
bool opened[RANKS];     /* handlers were made: what is held will be tried again */

byte completions;
byte sends_left = SENDS;
byte tasks_left = TASKS;
byte unparks_left = UNPARKS;
byte helds_left = HELDS;

#define works(r) (returned[r] < WAITS && !parked[r])  /* the main function */
#define acts(r) (works(r) || created[r] > finished[r] || handling[r] > 0)
#define is_quiet(r) (!acts(r) && travelling[r] == 0 && !opened[r])
#define is_told(r) (returned[r] == completions)
#define quiet (all_ranks(is_quiet) && all_ranks(is_told))

/* --- the control lane: a link in order for each edge of the tree, named by the child. */

#define ROOM 10 /* more than is ever used, which is asserted */

/* kind, epoch, version or wave, queued, processed, unsatisfied */
chan up[RANKS] = [ROOM] of { mtype, byte, byte, byte, byte, byte };
/* kind, epoch, wave or unsatisfied, version */
chan down[RANKS] = [ROOM] of { mtype, byte, byte, byte };

#define no_control(r) (len(up[r]) == 0 && len(down[r]) == 0)

#define send_up(kind, number, q, p, u) \
  assert(nfull(up[me])); up[me]!kind(epoch, number, q, p, u)
#define send_down(k, kind, w, v) \
  assert(nfull(down[child(k)])); down[child(k)]!kind(epoch, w, v)

/* --- snapshots. A look holds the rank's lock from its beginning to its end: no control message is
 * taken and no main function is parked or woken meanwhile, but tasks, handlers and messages go on.
 * Messages that are held count as processed and as unsatisfied. */

#ifndef READS_APART
#define look_finished finished[me]
#define look_processed processed[me]
#define look_queued queued[me]
#define look_created created[me]
#endif

#ifdef BROKEN_FORGETS_TASKS
#define no_task true
#else
#define no_task (look_finished == look_created)
#endif
#ifdef BROKEN_FORGETS_MAIN
#define main_is_idle (returned[me] < WAITS)
#else
#define main_is_idle parked[me]
#endif
#ifdef BROKEN_IGNORES_OPENED
#define at_rest true
#else
#define at_rest (!opened[me])
#endif

#define is_idle (main_is_idle && no_task && at_rest)
#define held_now held[me]
#define unsatisfied_now held[me]
#define parks_now parks[me]
#define note_reported() skip
#define note_confirmed() skip

#include "detector.pml"

/* --- Scope. */

/* wait() returns or throws: once for each completion. */
inline finish_park() {
  assert(parked[me]);
  parked[me] = false;
  returned[me]++;
  assert(returned[me] == completions)
}

inline on_verdict() {
  each_child(tell_child_verdict);
  finish_park()
}

inline on_stuck_part() {
  parts_missing--;
  if
  :: parts_missing == 0 && !is_root -> send_up(stuck_part, 0, 0, 0, 0)
  :: parts_missing == 0 && is_root -> on_verdict()
  :: else
  fi
}

/* on_done() with Detector::begin_epoch(). */
inline on_done() {
  each_child(tell_child_done);
  epoch++;
  must_report = true;
  if
  :: got_unsatisfied == 0 -> finish_park()
  :: else ->
    assert(parts_missing == 0);
    parts_missing = 1;
    each_child(await_part);
    on_stuck_part()
  fi
}

/* DetectorHost::completed(), on the root: what the protocol is for. */
inline completed() {
  too_early = (quiet -> 0 : 1);
  assert(too_early == 0);
  completions++;
  assert(epoch == completions);
  add_subtree();
  assert(sum_unsatisfied == all_held);
  got_unsatisfied = sum_unsatisfied;
  on_done()
}

inline from_child(k) {
  up[child(k)]?got(got_epoch, got_number, got_queued, got_processed, got_unsatisfied);
  if
  :: got == report -> on_report(k)
  :: got == confirmation -> on_confirmation()
  :: else -> on_stuck_part()
  fi
}

inline from_parent() {
  down[me]?got(got_epoch, got_number, got_version);
  if
  :: got == request -> on_request()
  :: got == done -> got_unsatisfied = got_number; on_done()
  :: else -> on_verdict()
  fi
}

active [RANKS] proctype Rank() {
  byte to; /* within one step */
  byte epoch = 1;
  byte version;
  byte wave;
  byte missing; /* confirmations */
  bool must_report = true;
  byte reported_tasks, reported_processed, reported_queued, reported_unsatisfied, reported_parks;
  byte child_epoch[ARITY], child_version[ARITY];
  byte child_queued[ARITY], child_processed[ARITY], child_unsatisfied[ARITY];
  byte parts_missing; /* of the report of a scope that is stuck */
#ifdef READS_APART
  mtype look = nothing; /* which is under way */
  byte reads_done, look_wave, look_finished, look_processed, look_queued, look_created;
#define locked (look != nothing)
#define changed \
  (must_report || finished[me] != reported_tasks || queued[me] != reported_queued || \
   processed[me] + held[me] != reported_processed || parks[me] != reported_parks)
#else
#define locked false
#endif

  do
  /* The program. A message is counted before it travels and a task before it can run; nobody can
   * tell these from one step. */
  :: atomic {
      acts(me) && sends_left > 0 ->
      sends_left--;
#ifndef BROKEN_QUEUED_ON_ARRIVAL
      queued[me]++;
#endif
      if
      :: to = 0
      :: RANKS > 1 -> to = 1
      :: RANKS > 2 -> to = 2
      :: RANKS > 3 -> to = 3
      fi;
      travelling[to]++;
      to = 0
    }
  :: d_step { acts(me) && tasks_left > 0 -> tasks_left--; created[me]++ }
  :: d_step { created[me] > finished[me] -> finished[me]++ }
  :: d_step {
      travelling[me] > 0 ->
      travelling[me]--;
      handling[me]++;
#ifdef BROKEN_QUEUED_ON_ARRIVAL
      queued[me]++;
#endif
#ifdef BROKEN_PROCESSED_BEFORE_HANDLER
      processed[me]++;
#endif
    }
  :: d_step {
      handling[me] > 0 ->
#ifndef BROKEN_PROCESSED_BEFORE_HANDLER
      processed[me]++;
#endif
      handling[me]--
    }
  :: d_step { travelling[me] > 0 && helds_left > 0 -> helds_left--; travelling[me]--; held[me]++ }
  :: d_step { acts(me) && held[me] > 0 && !opened[me] -> opened[me] = true }
  :: d_step {
      opened[me] ->
      opened[me] = false;
      travelling[me] = travelling[me] + held[me];
      held[me] = 0
    }
  :: d_step { works(me) && !locked -> parked[me] = true; parks[me]++ }
  /* A handler ends the collective operation in which the main function is parked. */
  :: d_step {
      handling[me] > 0 && parked[me] && is_told(me) && unparks_left > 0 && !locked ->
      unparks_left--;
      parked[me] = false
    }

  /* The control lane. */
  :: d_step { nempty(down[me]) && !locked -> from_parent() }
  :: d_step { has_child(0) && nempty(up[child(0)]) && !locked -> from_child(0) }
#if ARITY > 1
  :: d_step { has_child(1) && nempty(up[child(1)]) && !locked -> from_child(1) }
#endif
#if ARITY > 2
  :: d_step { has_child(2) && nempty(up[child(2)]) && !locked -> from_child(2) }
#endif

  /* Detector::on_idle(). */
#ifndef READS_APART
  :: d_step { all_children_reported && reports -> finish_look() }
#else
  /* Any worker that finds nothing to do looks. Only where nothing moves at all, and a look would
   * change nothing, there is none: so that a world that hangs is an end state. */
  :: d_step {
      all_children_reported && main_is_idle && !locked &&
      (!quiet || !all_ranks(no_control) || changed) ->
      look = for_report
    }
  :: d_step { locked && reads_done == 0 -> look_finished = finished[me]; reads_done = 1 }
  :: d_step { reads_done == 1 -> look_processed = processed[me]; reads_done = 2 }
  :: d_step { reads_done == 2 -> look_queued = queued[me]; reads_done = 3 }
  :: d_step { reads_done == 3 -> look_created = created[me]; reads_done = 4 }
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
      look_wave = (look == nothing -> 0 : look_wave);
      look_finished = 0;
      look_processed = 0;
      look_queued = 0;
      look_created = 0
    }
#endif
  :: returned[me] == WAITS -> break
  od
}
