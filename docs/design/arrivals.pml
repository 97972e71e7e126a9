/* Messages that arrive before their receiver exists, for exhaustive search by Spin. house.md, "One rule for arrivals",
 * says what it is.
 *
 * Rank 0 runs a random program in each of several teams that come one after the other. It sends messages to a receiver of
 * the team on rank 1, multicasts to it and to rank 2, which rank 1 passes on, and sends one message to a handler of its
 * own that exists. The main function of rank 1 makes the receiver: at once; or when that own handler has run; or when rank
 * 2 has handled a multicast. It opens when the main function begins to wait for something. A yield opens nothing: in a
 * fourth kind of program the receiver is made at once, and the main function yields until the own handler has run. The
 * receiver ends with its team, when all messages of the team have been handled.
 *
 * Waiting messages are in the window of their sender while the main function runs, and leave it when that pauses, by a
 * wait or a yield.
 *
 * Rank 2 also sends messages about each team, on another lane: control messages of its member, and invocations from outside.
 * They wait for the team, not for its receiver, and are none of its messages: control messages are not counted,
 * invocations count in the world. The team ends after the first of them. Those that come later find that it has ended. In a
 * fifth kind of program rank 1 makes its receiver when the first of them has come.
 *
 * Asserted: every run ends (no deadlock); messages of a stream, those of one sender to one receiver, are handled in the
 * order of their sending; a receiver gets messages of its own team only, and none waits when it ends; a message that waits
 * does not leave the window while the main function runs, so that windows bound what comes before it makes its receivers.
 * BROKEN_...: a defect that the search must find. One of them is a limit: a sender that is asked to keep what is for a
 * receiver also keeps the multicast that rank 2 waits for. In another one messages for a receiver that is made, and not
 * open, stay in the window during a yield: the main function may yield until it has a message that is behind them.
 * See tests/model/check_completion.
 */

#ifndef TEAMS
#define TEAMS 2
#endif
#ifndef SENDS
#define SENDS 3     /* messages of a team to its receiver */
#endif
#ifndef WINDOW
#define WINDOW 1    /* messages under way from rank 0 to rank 1 */
#endif

#ifndef ABOUT
#define ABOUT 0     /* messages about each team */
#endif

#define ALL (TEAMS * (SENDS + 1))

mtype = { one, cast, own, room, stop, go }; /* stop, go: of BROKEN_STOPS_STREAM */
mtype = { by_main, by_own, by_cast, by_yield, by_control };
mtype = { control, outside };

chan kept[TEAMS] = [SENDS] of { mtype, byte };     /* streams at the sender: kind, number in the stream */
chan own_stream = [TEAMS] of { mtype, byte };      /* and that of the program's own handlers: kind, team */
chan wire = [WINDOW] of { mtype, byte, byte };     /* from rank 0 to 1: kind, team, number */
chan back = [ALL] of { mtype, byte };              /* from rank 1 to 0 */
chan passed_on = [ALL] of { byte, byte };          /* from rank 1 to 2: team, number */
chan waiting[TEAMS] = [SENDS] of { mtype, byte };  /* for the receiver, on rank 1 */
#if ABOUT > 0
chan about = [TEAMS * ABOUT] of { mtype, byte, byte };     /* from rank 2 to 1: kind, team, number */
chan about_waiting[TEAMS] = [ABOUT] of { mtype, byte };    /* for the team, on rank 1 */
#endif
#ifdef BROKEN_ONE_STREAM
chan behind = [ALL] of { mtype, byte };            /* own messages behind others of their sender */
#endif

mtype how[TEAMS];      /* the receiver is made */
bool made[TEAMS];      /* it exists */
bool open[TEAMS];      /* and takes messages */
bool paused = false;   /* the main function of rank 1 does not run */
byte held = 0;         /* messages that wait, and are in the window */
bool told[TEAMS];      /* the own message has come */
bool stopped[TEAMS];   /* the sender keeps what is for it */
bool asked[TEAMS];     /* it was asked to */
byte under_way = 0;    /* as rank 0 knows */
byte sent[TEAMS];      /* what is to be handled, on all ranks */
byte handled[TEAMS];
byte next[TEAMS];      /* number that the receiver expects */
byte next_far[TEAMS];  /* and that of rank 2 */
byte casts[TEAMS];     /* handled on rank 2 */
bool closed[TEAMS];    /* the program of rank 0 is over */
byte current = 0;      /* team of rank 1 */
bool exists[TEAMS];    /* on rank 1 */
bool ended[TEAMS];
byte next_about[TEAMS];
byte world_sent = 0;   /* invocations from outside */
byte world_handled = 0;

#define over(t) (closed[t] && handled[t] == sent[t])

/* A receiver gets a message. */
inline handle(t, number) {
  assert(number == next[t]);
  next[t]++;
#ifndef BROKEN_COUNTS_ARRIVALS
  handled[t]++
#endif
}

inline give_room() {
  back!room(0)
}

#ifdef BROKEN_UNOPENED_STAYS
#define may_leave (paused && (current == TEAMS || !made[current] || open[current]))
#else
#define may_leave paused
#endif

/* The main function of rank 0. */
proctype program() {
  byte t = 0, n = 0;
  bool own_sent = false;
  do
  :: t < TEAMS ->
    n = 0;
    own_sent = false;
    do
    :: atomic { n < SENDS -> sent[t]++; kept[t]!one(n); n++ }
    :: atomic { n < SENDS -> sent[t] = sent[t] + 2; kept[t]!cast(n); n++ }
    :: atomic { !own_sent -> own_sent = true; sent[t]++; own_stream!own(t) }
    :: n == SENDS && own_sent -> break
    od;
    atomic { closed[t] = true };
    over(t);
    t++
  :: else -> break
  od
}

#define may_send(t) (under_way < WINDOW && !stopped[t])

/* Progress of rank 0. */
proctype sender() {
  mtype kind;
  byte t = 0, number = 0;
end:
  do
  :: atomic { back?kind(t) ->
      if
      :: kind == room -> under_way--
      :: kind == stop -> stopped[t] = true
      :: kind == go -> stopped[t] = false
      fi }
  :: atomic { may_send(0) && len(kept[0]) > 0 -> kept[0]?kind(number); under_way++; wire!kind(0, number) }
#if TEAMS > 1
  :: atomic { may_send(1) && len(kept[1]) > 0 -> kept[1]?kind(number); under_way++; wire!kind(1, number) }
#endif
  :: atomic { under_way < WINDOW && len(own_stream) > 0 -> own_stream?kind(t); under_way++; wire!own(t, 0) }
  od
}

inline handle_own(t) {
  told[t] = true;
  handled[t]++
}

#ifdef BROKEN_NO_TEAM
#define receiver_of(t) (open[0] || open[TEAMS - 1])
#else
#define receiver_of(t) open[t]
#endif
#ifdef BROKEN_OVERTAKES
#define may_handle(t) receiver_of(t)
#else
#define may_handle(t) (receiver_of(t) && len(waiting[t]) == 0)
#endif

#ifdef BROKEN_ABOUT_WAITS_FOR_RECEIVER
#define takes_about(t) open[t]
#else
#define takes_about(t) exists[t]
#endif

inline count_about(about_kind, t) {
  if
#ifdef BROKEN_ABOUT_COUNTS_IN_TEAM
  :: about_kind == outside -> handled[t]++
#else
  :: about_kind == outside -> world_handled++
#endif
  :: else
  fi
}

inline handle_about(about_kind, t, number) {
  assert(number == next_about[t]);
  next_about[t]++;
  count_about(about_kind, t)
}

/* Progress of rank 1: handlers run one at a time. */
proctype receiver() {
  mtype kind;
  byte t = 0, number = 0;
end:
  do
  :: atomic { wire?kind(t, number) ->
      if
      :: kind == own ->
#ifdef BROKEN_ONE_STREAM
        if
        :: len(waiting[0]) + len(waiting[TEAMS - 1]) > 0 -> behind!own(t)
        :: else -> handle_own(t)
        fi;
#else
        handle_own(t);
#endif
        give_room()
      :: else ->
#ifndef BROKEN_PASSES_ON_LATE
        if
        :: kind == cast -> passed_on!t(number)
        :: else
        fi;
#endif
        if
        :: may_handle(t) ->
#ifdef BROKEN_NO_TEAM
          assert(open[t]);
#endif
#ifdef BROKEN_PASSES_ON_LATE
          if
          :: kind == cast -> passed_on!t(number)
          :: else
          fi;
#endif
#ifdef BROKEN_COUNTS_ARRIVALS
          handled[t]++;
#endif
          handle(t, number);
          give_room()
        :: else ->
#ifdef BROKEN_COUNTS_ARRIVALS
          handled[t]++;
#endif
          waiting[t]!kind(number);
#ifdef BROKEN_STOPS_STREAM
          if
          :: !asked[t] -> asked[t] = true; back!stop(t)
          :: else
          fi;
#endif
#ifdef BROKEN_LEAVES_AT_ONCE
          assert(paused);
          give_room()
#else
          held++
#endif
        fi
      fi;
      kind = one; t = 0; number = 0 }
#ifndef BROKEN_HOLDS_WINDOW
  :: atomic { held > 0 && may_leave -> held--; give_room() }
#endif
  :: atomic { current < TEAMS && open[current] && len(waiting[current]) > 0 ->
      waiting[current]?kind(number);
#ifdef BROKEN_PASSES_ON_LATE
      if
      :: kind == cast -> passed_on!current(number)
      :: else
      fi;
#endif
      handle(current, number);
      if
      :: held > 0 -> held--; give_room()
      :: else
      fi;
      if
      :: len(waiting[current]) == 0 && asked[current] -> asked[current] = false; back!go(current)
      :: else
      fi;
      kind = one; number = 0 }
#ifdef BROKEN_ONE_STREAM
  :: atomic { len(waiting[0]) + len(waiting[TEAMS - 1]) == 0 && len(behind) > 0 -> behind?kind(t); handle_own(t) }
#endif
#if ABOUT > 0
  :: atomic { about?kind(t, number) ->
      if
#ifdef BROKEN_ABOUT_OVERTAKES
      :: takes_about(t) -> handle_about(kind, t, number)
#else
      :: takes_about(t) && len(about_waiting[t]) == 0 -> handle_about(kind, t, number)
#endif
#ifndef BROKEN_ABOUT_OUTLIVES_TEAM
      :: ended[t] -> count_about(kind, t)
#endif
#ifdef BROKEN_ABOUT_LOST
      :: !takes_about(t) && !ended[t]
#endif
      :: else -> about_waiting[t]!kind(number)
      fi;
      kind = one; t = 0; number = 0 }
  :: atomic { current < TEAMS && takes_about(current) && len(about_waiting[current]) > 0 ->
      about_waiting[current]?kind(number);
      handle_about(kind, current, number);
      kind = one; number = 0 }
#endif
  od
}

#define cast_is_there(t) (casts[t] > 0 || (closed[t] && sent[t] == SENDS + 1)) /* or no multicast was sent */

#if ABOUT > 0
#define has_told(t) (next_about[t] > 0 && len(about_waiting[t]) == 0)
#else
#define has_told(t) true
#endif

/* The main function of rank 1. */
proctype maker() {
  do
  :: current < TEAMS ->
    if
    :: how[current] == by_main -> skip
    :: how[current] == by_yield -> atomic { made[current] = true; paused = true }; told[current]
    :: how[current] == by_own -> paused = true; told[current]
    :: how[current] == by_cast -> paused = true; cast_is_there(current)
    :: how[current] == by_control -> atomic { exists[current] = true; paused = true }; next_about[current] > 0
    fi;
    atomic { paused = false; exists[current] = true; made[current] = true };
    atomic { open[current] = true; paused = true };
    atomic { over(current) && has_told(current) ->
      assert(len(waiting[current]) == 0);
      exists[current] = false;
      ended[current] = true;
      made[current] = false;
      open[current] = false;
      paused = false;
      current++ }
  :: else -> break
  od;
  world_handled == world_sent
}

#if ABOUT > 0
/* The main function of rank 2. */
proctype teller() {
  byte t = 0, n = 0;
  do
  :: atomic { n < ABOUT -> about!control(t, n); n++ }
  :: atomic { n < ABOUT -> world_sent++; about!outside(t, n); n++ }
  :: atomic { n == ABOUT && t < TEAMS - 1 -> t++; n = 0 }
  :: n == ABOUT && t == TEAMS - 1 -> break
  od
}
#endif

/* Rank 2: its receivers are there. */
proctype far() {
  byte t = 0, number = 0;
end:
  do
  :: atomic { passed_on?t(number) ->
      assert(number >= next_far[t]);
      next_far[t] = number + 1;
      casts[t]++;
      handled[t]++;
      t = 0; number = 0 }
  od
}

init {
  byte t = 0;
  atomic {
    do
    :: t < TEAMS ->
      if
      :: how[t] = by_main
      :: how[t] = by_own
      :: how[t] = by_cast
      :: how[t] = by_yield
#if ABOUT > 0
      :: how[t] = by_control
#endif
      fi;
      t++
    :: else -> break
    od;
    run program();
    run sender();
    run receiver();
    run far();
#if ABOUT > 0
    run teller();
#endif
    run maker()
  }
}
