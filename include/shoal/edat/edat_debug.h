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

/* Returns the number of workers of this rank. */
int edatGetNumWorkers(void);
/* Returns the worker that runs the calling task, from 0; -1 in main(), or another thread of the
 * program. */
int edatGetWorker(void);
/* Returns the number of workers of this rank that run a task now, including the caller's. */
int edatGetNumActiveWorkers(void);

/* Returns when all tasks have run and all events were consumed, on all ranks, as edatFinalise does;
 * then the program goes on, and may submit and fire again. The main() of every rank calls it, as
 * often as those of the others. */
void edatPauseMainThread(void);
/* Continues after edatPauseMainThread. Does nothing, as events can be fired again already. */
void edatRestart(void);

/* Starts the workers as edatInit does, on the processes of a communicator, given by its number in
 * Fortran (MPI_Comm_c2f). The program has initialized MPI, with MPI_THREAD_SERIALIZED or
 * MPI_THREAD_MULTIPLE, and finalizes it. */
void edatInitialiseWithCommunicator(int communicator);
/* Keeps the library from calling MPI until edatUnlockComms, so that no event travels meanwhile: for
 * calls of MPI by the program at MPI_THREAD_SERIALIZED. One task or thread at a time. */
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
