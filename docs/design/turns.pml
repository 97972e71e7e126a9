/* The turn of a rank and the runners of its teams, for exhaustive search by Spin. objects.md says what it is.
 *
 * INVOCATIONS arrive, for one team each. One of depth d invokes another of depth d - 1 in the next team and waits
 * for it. Sections have representatives of all teams: each invokes one and waits for it, or, with POLLS, yields
 * until all that arrived have run. Invocations have no order: an order within a team only adds waits that end.
 *
 * Asserted: one task at a time has the turn; a team with an invocation that may run has a task or a handler that
 * is counted; every run ends (no deadlock), with POLLS even an unfair one. BROKEN_...: a defect that the search must find.
 * See tests/model/check_completion.
 */

#ifndef TEAMS
#define TEAMS 2
#endif
#ifndef SECTIONS
#define SECTIONS 1
#endif
#ifndef INVOCATIONS
#define INVOCATIONS 1
#endif
#ifndef DEPTH
#define DEPTH 1
#endif

#ifdef POLLS
#define INVOKED INVOCATIONS
#else
#define INVOKED (INVOCATIONS + SECTIONS)
#endif
#define IDS (INVOKED * (DEPTH + 1))
#define PROCESSES 40
#define NONE 255

/* Index of the turn of a team. */
#ifdef BROKEN_PER_TEAM
#define turn_of(t) (t)
#else
#define turn_of(t) 0
#endif

bool taken[TEAMS];            /* of each turn */
bool runner_is_next[TEAMS];
chan tasks[TEAMS] = [PROCESSES] of { byte };
chan runners[TEAMS] = [PROCESSES] of { byte };
bool granted[PROCESSES];
byte in_use = 0;              /* tasks that have a turn */

chan queue[TEAMS] = [IDS] of { byte };
bool has_runner[TEAMS];
byte counted[TEAMS];          /* tasks and handlers */
byte depth[IDS];
bool finished[IDS];
byte waiter_in[IDS];          /* team of the parked task that waits for it, and 1; 0: none */
byte last_id = 0;
byte to_run = INVOCATIONS;      /* of those that arrive */
bit too_early = 0;

inline begin_turn() {
  atomic { granted[_pid]; granted[_pid] = false; in_use++; assert(in_use == 1) }
}

inline acquire(l) {
  atomic {
    if
    :: !taken[l] -> taken[l] = true; granted[_pid] = true
    :: else -> tasks[l]!_pid
    fi
  }
  begin_turn()
}

inline release(l) {
  atomic {
    in_use--;
    next = NONE;
    is_task = len(tasks[l]) > 0 && !(runner_is_next[l] && len(runners[l]) > 0);
    is_runner = !is_task && len(runners[l]) > 0;
    runner_is_next[l] = false;
    if
    :: is_task ->
      tasks[l]?next;
#ifndef BROKEN_TASKS_FIRST
      runner_is_next[l] = true
#endif
    :: is_runner -> runners[l]?next
    :: !is_task && !is_runner
    fi;
    is_task = false;
    is_runner = false;
#ifdef BROKEN_FREE_AS_WELL
    taken[l] = false;
#else
    taken[l] = (next != NONE);
#endif
    if
    :: next != NONE -> granted[next] = true
    :: else
    fi;
    next = NONE
  }
}

inline start_runner(t) {
  atomic {
#ifndef BROKEN_COUNTS_LATE
    counted[t]++;
#endif
    next = run runner(t);
    if
    :: !taken[turn_of(t)] -> taken[turn_of(t)] = true; granted[next] = true
    :: else -> runners[turn_of(t)]!next
    fi;
    next = NONE
  }
}

/* By a handler, which is counted while it does. */
inline accept(t, id) {
  atomic {
    counted[t]++;
    queue[t]!id;
    wants = !has_runner[t];
    has_runner[t] = true
  }
  atomic {
    if
    :: wants -> start_runner(t)
    :: else
    fi;
    counted[t]--;
    wants = false
  }
}

inline leave(t) {
  atomic {
    if
    :: taking -> taking = false; has_runner[t] = false
    :: else
    fi;
    wants = len(queue[t]) > 0 && !has_runner[t];
#ifdef BROKEN_LEAVES_REST
    wants = false;
#endif
    if
    :: wants -> has_runner[t] = true
    :: else
    fi
  }
  release(turn_of(t));
  atomic {
    if
    :: wants -> start_runner(t)
    :: else
    fi;
    wants = false
  }
}

inline make(id, of_depth) {
  atomic { id = last_id; last_id++; depth[id] = of_depth }
}

inline wait_finished(t, id) {
  atomic {
    if
    :: finished[id]
    :: else ->
#ifndef BROKEN_KEEPS_TURN
      waiter_in[id] = t + 1;
      counted[t]--
#endif
    fi
  }
  finished[id]
}

proctype runner(byte t) {
  byte id = NONE, child = NONE, next = NONE;
  bool taking = true, has_run = false, wants = false, is_task = false, is_runner = false;
  begin_turn();
#ifdef BROKEN_COUNTS_LATE
  counted[t]++;
#endif
  do
  :: atomic {
      if
      :: !taking -> taking = !has_runner[t]; has_runner[t] = true
      :: else
      fi;
      id = NONE;
#ifdef BROKEN_YIELDS_AT_ONCE
      wants = taking && len(queue[t]) > 0 && len(tasks[turn_of(t)]) == 0;
#else
      wants = taking && len(queue[t]) > 0 && (!has_run || len(tasks[turn_of(t)]) == 0);
#endif
      if
      :: wants -> queue[t]?id
      :: !wants
      fi;
      wants = false
    }
    if
    :: id == NONE -> break
    :: else
    fi;
    if
    :: depth[id] > 0 ->
      make(child, depth[id] - 1);
      accept((t + 1) % TEAMS, child);
#ifndef BROKEN_KEEPS_TURN
      leave(t);
#endif
      wait_finished(t, child);
#ifndef BROKEN_KEEPS_TURN
      acquire(turn_of(t));
#endif
      child = NONE
    :: else
    fi;
    atomic {
      has_run = true;
      finished[id] = true;
      if
      :: waiter_in[id] > 0 && waiter_in[id] <= TEAMS -> counted[waiter_in[id] - 1]++
      :: else
      fi;
      if
      :: id < INVOCATIONS -> to_run--
      :: else
      fi
    }
    if
    :: break  /* it has run many */
    :: true
    fi
  od;
  leave(t);
  counted[t]--
}

/* It is counted outside the teams. */
proctype section(byte s) {
  byte id = NONE, next = NONE;
  bool wants = false, is_task = false, is_runner = false;
  acquire(0);
#ifdef POLLS
  do
  :: to_run == 0 -> break
  :: else -> release(0); acquire(0)
  od;
#else
  make(id, DEPTH);
  accept(s % TEAMS, id);
  release(0);
  finished[id];
  acquire(0);
#endif
  release(0)
}

proctype handler() {
  byte n = 0, next = NONE;
  bool wants = false;
  do
  :: n < INVOCATIONS ->
    if
    :: accept(0, n)
    :: accept(TEAMS - 1, n)
    fi;
    n++
  :: else -> break
  od
}

#define early(t) (len(queue[t]) > 0 && counted[t] == 0)

active proctype monitor() {
end:
  atomic {
    early(0) || early(TEAMS - 1) -> too_early = 1; assert(too_early == 0)
  }
}

init {
  byte n = 0, next = NONE;
  bool wants = false;
  atomic {
    do
    :: n < INVOCATIONS -> depth[n] = DEPTH; n++
    :: else -> break
    od;
    last_id = INVOCATIONS;
#ifdef POLLS
    n = 0;
    do
    :: n < INVOCATIONS -> accept(n % TEAMS, n); n++
    :: else -> break
    od;
#else
    run handler();
#endif
    n = 0;
    do
    :: n < SECTIONS -> run section(n); n++
    :: else -> break
    od
  }
}
