/* The completion protocol of src/team/detector.cpp, function by function, as completion.pml and
 * completion_teams.pml include it. They define, before: `me`, a rank in a tree of ARITY, is_root, child(k)
 * and has_child(k); a snapshot, as is_idle, look_finished, look_processed, look_queued, held_now,
 * unsatisfied_now, parks_now; note_reported() and note_confirmed(); send_up() and send_down(). And
 * after: completed().
 */

mtype = { report, confirmation, stuck_part, request, done, verdict };
mtype = { nothing, for_report, for_request, for_root };

/* Of use within one step only. */
hidden mtype got;
hidden byte got_epoch, got_number, got_version, got_queued, got_processed, got_unsatisfied;
hidden byte sum_queued, sum_processed, sum_unsatisfied, too_early;

#define is_as_reported \
  (look_finished == reported_tasks && look_processed + held_now == reported_processed && \
   look_queued == reported_queued && parks_now == reported_parks)

#ifdef BROKEN_NO_SECOND_LOOK
#define confirms true
#else
#define confirms (is_idle && is_as_reported)
#endif
#define reports (is_idle && (must_report || !is_as_reported))

#if ARITY == 1
#define each_child(action) action(0)
#define all_children_reported child_reported(0)
#elif ARITY == 2
#define each_child(action) action(0); action(1)
#define all_children_reported (child_reported(0) && child_reported(1))
#else
#define each_child(action) action(0); action(1); action(2)
#define all_children_reported (child_reported(0) && child_reported(1) && child_reported(2))
#endif

#define child_reported(k) (!has_child(k) || child_epoch[k] == epoch)

inline add_child(k) {
  if
  :: has_child(k) ->
    sum_queued = sum_queued + child_queued[k];
    sum_processed = sum_processed + child_processed[k];
    sum_unsatisfied = sum_unsatisfied + child_unsatisfied[k]
  :: else
  fi
}

inline add_subtree() {
  sum_queued = reported_queued;
  sum_processed = reported_processed;
  sum_unsatisfied = reported_unsatisfied;
  each_child(add_child)
}

inline ask_child(k) {
  if
  :: has_child(k) ->
    missing++;
    send_down(k, request, wave, child_version[k])
  :: else
  fi
}

inline tell_child_done(k) {
  if
  :: has_child(k) -> send_down(k, done, got_unsatisfied, 0)
  :: else
  fi
}

inline tell_child_verdict(k) {
  if
  :: has_child(k) -> send_down(k, verdict, 0, 0)
  :: else
  fi
}

inline await_part(k) {
  if
  :: has_child(k) -> parts_missing++
  :: else
  fi
}

inline finish_root_look() {
  if
  :: confirms -> note_confirmed(); completed()
  :: else -> must_report = true
  fi
}

inline wave_confirmed() {
  if
  :: !is_root -> send_up(confirmation, wave, 0, 0, 0)
  :: is_root && must_report
  :: is_root && !must_report ->
#ifdef READS_APART
    look = for_root
#else
    finish_root_look()
#endif
  fi
}

inline start_wave(number) {
  wave = number;
  missing = 0;
  each_child(ask_child);
  if
  :: missing == 0 -> wave_confirmed()
  :: else
  fi
}

inline send_report() {
  note_reported();
  /* take_snapshot() looks at what waits only when something else has changed. */
  reported_unsatisfied = (is_as_reported -> reported_unsatisfied : unsatisfied_now);
  reported_tasks = look_finished;
  reported_processed = look_processed + held_now;
  reported_queued = look_queued;
  reported_parks = parks_now;
  must_report = false;
  version++;
  assert(version < 255);
  add_subtree();
  if
  :: !is_root -> send_up(report, version, sum_queued, sum_processed, sum_unsatisfied)
  :: else ->
    /* A wave that is under way ends: its second look would be compared with this report. */
#ifdef BROKEN_KEEPS_OLD_WAVE
    wave = (sum_queued == sum_processed -> wave + 1 : wave);
#else
    wave++;
#endif
    if
    :: sum_queued == sum_processed -> start_wave(wave)
    :: else
    fi
  fi
}

inline finish_look() {
  if
  :: reports -> send_report()
  :: else
  fi
}

inline on_report(k) {
  child_epoch[k] = got_epoch;
  child_version[k] = got_number;
  child_queued[k] = got_queued;
  child_processed[k] = got_processed;
  child_unsatisfied[k] = got_unsatisfied;
#ifndef BROKEN_DEAF
  must_report = true
#endif
}

inline finish_request_look(number) {
  if
  :: confirms -> note_confirmed(); start_wave(number)
  :: else -> must_report = true
  fi
}

#ifdef BROKEN_IGNORES_VERSION
#define is_my_report true
#else
#define is_my_report (got_version == version)
#endif
#ifdef BROKEN_IGNORES_MUST_REPORT
#define nothing_new true
#else
#define nothing_new (!must_report)
#endif
#ifdef BROKEN_COUNTS_OLD_CONFIRMATIONS
#define is_my_wave true
#else
#define is_my_wave (got_number == wave)
#endif

inline on_request() {
  if
  :: got_epoch == epoch && is_my_report && nothing_new ->
#ifdef READS_APART
    look = for_request;
    look_wave = got_number
#else
    finish_request_look(got_number)
#endif
  :: else
  fi
}

inline on_confirmation() {
  if
  :: got_epoch == epoch && is_my_wave ->
    missing--;
    if
    :: missing == 0 -> wave_confirmed()
    :: else
    fi
  :: else
  fi
}
