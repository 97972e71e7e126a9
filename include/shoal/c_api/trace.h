/* Traces of C programs: spans, marks and counters of their own, in the file of --trace. Programs
 * link libshoal_c. Any thread may call; no call blocks or fails. While nothing is recorded, a call
 * does nothing. Names are copied. */
#ifndef SHOAL_C_API_TRACE_H
#define SHOAL_C_API_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Begins a span of the program; returns its number, or 0 while nothing is recorded. */
uint64_t shoal_trace_begin(const char* name);
/* Ends the span of this number, perhaps on another thread. 0 is allowed. */
void shoal_trace_end(uint64_t span);
/* Records a moment of the program, with a number that it chooses. */
void shoal_trace_mark(const char* name, uint64_t value);
/* Records the value that a quantity has from now on. */
void shoal_trace_counter(const char* name, double value);
/* Region of interest: with --trace-paused, nothing is recorded before shoal_trace_resume(). */
void shoal_trace_resume(void);
/* Ends the region. */
void shoal_trace_pause(void);
/* Returns 1 while spans, marks and counters are recorded, else 0. */
int shoal_trace_on(void);

#ifdef __cplusplus
}
#endif

#endif
