/* The calls of EDAT's edat_debug.h on shoal: benchmarks and the Fortran module of EDAT need them
 * beside edat.h. Errors end the program, as with edat.h; see docs/edat.md. */
#ifndef SHOAL_EDAT_EDAT_DEBUG_H
#define SHOAL_EDAT_EDAT_DEBUG_H

#include "edat.h"

#ifdef __cplusplus
extern "C" {
#else
#include <stdbool.h>
#endif

/* Workers of this rank. */
int edatGetNumWorkers(void);
/* The worker that runs the calling task, from 0; -1: main(), or another thread of the program. */
int edatGetWorker(void);
/* Workers of this rank that run a task right now, the caller's among them. */
int edatGetNumActiveWorkers(void);

/* Returns when all tasks have run and all events were consumed, on all ranks, as edatFinalise does;
 * then the program goes on, and may submit and fire again. The main() of every rank calls it, as
 * often as those of the others. */
void edatPauseMainThread(void);
/* Goes on after edatPauseMainThread. Not needed here: that has made everything ready. */
void edatRestart(void);

/* edatInit on the processes of a communicator: its number in Fortran (MPI_Comm_c2f). The program
 * has initialized MPI, with MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE, and finalizes it. */
void edatInitialiseWithCommunicator(int communicator);
/* Between the two the library calls no MPI, and no event travels; for calls of MPI by the program
 * at MPI_THREAD_SERIALIZED. One task or thread at a time. */
void edatLockComms(void);
/* Ends what edatLockComms began. */
void edatUnlockComms(void);

/* Submits a task for EDAT's Fortran module. `*sources` points to `count` ranks: it is the
 * descriptor of a contiguous array, which begins with that pointer. `name` may be NULL. */
void edatSubmitTask_f(void (*task)(EDAT_Event*, int), const char* name, int count, int** sources,
                      char** event_ids, bool persistent, bool greedy);

#ifdef __cplusplus
}
#endif

#endif
