/* Windows of links, and invocations that wait at the receiver, for exhaustive search by Spin. objects.md says what it is.
 *
 * Each section runs a random program of a few steps: it invokes on any rank, also on its own, and waits for room first; it
 * invokes and waits for the end; it advances its epoch; it waits for the end of the program of the rank before it; it
 * yields. An invocation of depth d invokes on any rank, without waiting for room, and waits for the end of that one. What
 * a section waits for has no order and no epoch: so no program hangs where windows have no limit.
 *
 * Asserted: every run ends (no deadlock); nothing leaves a window but what waits, or while the owner of the turn waits for
 * room: so a rank that computes is sent no more than a window. BROKEN_...: a defect that the search must find.
 * See tests/model/check_completion.
 */

#ifndef RANKS
#define RANKS 2
#endif
#ifndef STEPS
#define STEPS 2     /* of the program of rank 0 */
#endif
#ifndef OTHER_STEPS
#define OTHER_STEPS 1
#endif
#ifndef DEPTH
#define DEPTH 1
#endif
#ifndef WINDOW
#define WINDOW 1    /* invocations */
#endif

#define INVOKED (STEPS + (RANKS - 1) * OTHER_STEPS)  /* by sections */
#define IDS (INVOKED * (DEPTH + 1))
#define NONE 255
#define LAST_EPOCH (STEPS + OTHER_STEPS)

#define link(from, to) ((from) * RANKS + (to))

mtype = { unused, queued, runs, parked, ended };

byte in_flight[RANKS * RANKS];  /* of each link */
bool taken[RANKS];              /* the turn */
bool sender_waits[RANKS];       /* the owner of the turn waits for room */
byte epoch[RANKS];
bool over[RANKS];               /* the section has run its program */

mtype state[IDS];
byte rank[IDS];                 /* that it runs on */
byte source[IDS];
byte needs[IDS];                /* epoch */
byte depth[IDS];
bool in_window[IDS];
byte before[IDS];               /* the last one before it in its context; NONE: there is none, or no order */
byte last_of[RANKS * RANKS];    /* of the context of a section on a rank */
bit unfounded = 0;              /* something has left a window that could run */

#define is_left(id) ((id) != NONE && state[id] != ended)
#define waits_for_epoch(id) (needs[id] > epoch[rank[id]])
#define is_parked_before(id) \
  (is_left(before[id]) && \
   (state[before[id]] == parked || (is_left(before[before[id]]) && state[before[before[id]]] == parked)))
#define may_run(id) (!waits_for_epoch(id) && !is_left(before[id]))

#ifdef BROKEN_KEEPS_EPOCH
#define has_to_leave(id) is_parked_before(id)
#else
#ifdef BROKEN_KEEPS_ORDER
#define has_to_leave(id) waits_for_epoch(id)
#else
#define has_to_leave(id) (waits_for_epoch(id) || is_parked_before(id))
#endif
#endif

/* Its bytes are given back to the window. */
inline give_back(id) {
  if
  :: in_window[id] -> in_window[id] = false; in_flight[link(source[id], rank[id])]--
  :: else
  fi
}

inline leave_window(id) {
  if
  :: in_window[id] && state[id] == queued && !waits_for_epoch(id) && !is_parked_before(id) && !sender_waits[rank[id]] ->
    unfounded = 1;
    assert(unfounded == 0)
  :: else
  fi;
  give_back(id)
}

/* `last`: of its context, or NONE. */
inline invoke(id, from, to, of_epoch, of_depth, last) {
  source[id] = from;
  rank[id] = to;
  needs[id] = of_epoch;
  depth[id] = of_depth;
  before[id] = last;
  in_window[id] = true;
  in_flight[link(from, to)]++;
  state[id] = queued;
#ifdef BROKEN_LEAVES_AT_ONCE
  leave_window(id);
#else
  if
  :: sender_waits[to] -> leave_window(id)
  :: else
  fi;
#endif
}

#define child (id + INVOKED)

proctype invocation(byte id) {
  byte to = 0;
end:
  do
  :: atomic {
      state[id] == queued && !taken[rank[id]] && may_run(id) ->
      taken[rank[id]] = true;
      if
      :: depth[id] == 0 -> break
      :: else
      fi;
      do
      :: to < RANKS - 1 -> to++
      :: break
      od;
      invoke(child, rank[id], to, needs[id], depth[id] - 1, NONE);
      to = 0;
      state[id] = parked;
#ifndef BROKEN_KEEPS_PARKED
      leave_window(id);
#endif
      taken[rank[id]] = false
    }
    atomic { state[child] == ended && !taken[rank[id]] -> taken[rank[id]] = true; break }
  :: atomic { state[id] == queued && !taken[rank[id]] && in_window[id] && has_to_leave(id) -> leave_window(id) }
  od;
  atomic {
    give_back(id);
    taken[rank[id]] = false;
    state[id] = ended;
    source[id] = 0;
    rank[id] = 0;
    needs[id] = 0;
    depth[id] = 0;
    before[id] = NONE
  }
}

proctype section(byte r) {
  byte left = (r == 0 -> STEPS : OTHER_STEPS);
  byte id = (r == 0 -> 0 : STEPS + (r - 1) * OTHER_STEPS);
  byte to = 0, of_depth = 0, other = 0;
  do
  :: atomic {
      left > 0 ->
      left--;
      to = 0;
      of_depth = 0;
      if
      :: true ->  /* invokes */
        do
        :: to < RANKS - 1 -> to++
        :: break
        od;
        do
        :: of_depth < DEPTH -> of_depth++
        :: break
        od;
        if
        :: in_flight[link(r, to)] < WINDOW
        :: else ->
#ifndef BROKEN_SENDER_KEEPS
          sender_waits[r] = true;
          do
          :: other < IDS ->
            if
            :: rank[other] == r && state[other] == queued -> leave_window(other)
            :: else
            fi;
            other++
          :: else -> break
          od;
          other = 0;
#endif
          in_flight[link(r, to)] <= WINDOW / 2;
          sender_waits[r] = false
        fi;
        if
        :: invoke(id, r, to, epoch[r], of_depth, last_of[link(r, to)]); last_of[link(r, to)] = id
        :: invoke(id, r, to, epoch[r], of_depth, NONE)
        fi
      :: true ->  /* invokes and waits for the end */
        do
        :: to < RANKS - 1 -> to++
        :: break
        od;
        do
        :: of_depth < DEPTH -> of_depth++
        :: break
        od;
        invoke(id, r, to, 0, of_depth, NONE);
        taken[r] = false;
        state[id] == ended && !taken[r];
        taken[r] = true
      :: epoch[r]++
      :: r > 0 ->
        taken[r] = false;
        over[r - 1] && !taken[r];
        taken[r] = true
      :: taken[r] = false;  /* yields */
        !taken[r];
        taken[r] = true
      fi;
      id++
    }
  :: atomic { left == 0 -> over[r] = true; epoch[r] = LAST_EPOCH; taken[r] = false; break }
  od
}

init {
  byte n = 0;
  atomic {
    do
    :: n < RANKS * RANKS -> last_of[n] = NONE; n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < IDS -> state[n] = unused; before[n] = NONE; run invocation(n); n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < RANKS -> taken[n] = true; run section(n); n++
    :: else -> break
    od
  }
  n = 0;
  do
  :: n < IDS -> state[n] == unused || state[n] == ended; n++
  :: else -> break
  od
}
