#pragma once
/* Functions and constants of one MPI, as a plug-in gives them to the library.
 *
 * The library is built without any MPI. src/net/mpi_plugin/mpi_plugin.cpp is compiled once for
 * each, into a shared library that only fills this table. Plain C: no object, exception, memory
 * or thread-local variable of C++ passes between the two.
 *
 * Functions return the error code of the MPI function that they are named after; MPI_SUCCESS is 0
 * in every MPI. Sizes and counts are in bytes. Callers keep the rules of MPI for their thread
 * level. */

#include <stddef.h>
#include <stdint.h>

/* Counts changes of this file. A plug-in of another version is refused. */
#define SHOAL_MPI_TABLE_VERSION 2

/* Handles of the MPI, in their first bytes; the others are 0. So a pointer to one is a pointer to
 * the MPI's handle, and equal handles have equal bits. */
typedef struct {
  uint64_t bits;
} shoal_mpi_comm;
typedef struct {
  uint64_t bits;
} shoal_mpi_request;
typedef struct {
  uint64_t bits;
} shoal_mpi_win;

typedef struct {
  int source;
  int error;
  uint64_t mpi[6]; /* the MPI_Status, for status_bytes() */
} shoal_mpi_status;

/* Thread levels in the order of the standard; their numbers in mpi.h are not the same everywhere.
 */
enum {
  SHOAL_MPI_SINGLE,
  SHOAL_MPI_FUNNELED,
  SHOAL_MPI_SERIALIZED,
  SHOAL_MPI_MULTIPLE,
};

/* Requests that one call of testsome() takes at most. */
enum { SHOAL_MPI_TESTSOME_MAX = 64 };

typedef struct shoal_mpi_table {
  uint32_t version;    /* SHOAL_MPI_TABLE_VERSION */
  uint32_t size_bytes; /* of this struct */
  const char* plugin;  /* "openmpi" */
  const char* header;  /* mpi.h that the plug-in was compiled with: "Open MPI 4.1.4" */

  int any_source;
  int undefined;
  int err_truncate;
  int err_other;
  int err_pending;
  int err_in_status;
  shoal_mpi_comm comm_null;
  shoal_mpi_comm comm_world;
  shoal_mpi_comm comm_self;
  shoal_mpi_request request_null;
  shoal_mpi_win win_null;

  int (*initialized)(int* flag);
  int (*finalized)(int* flag);
  int (*init_thread)(int level, int* granted);
  int (*query_thread)(int* level);
  int (*finalize)(void);
  /* Calls `called` when MPI_Finalize begins: by an attribute of MPI_COMM_SELF, which that deletes
   * first. */
  int (*watch_finalize)(void (*called)(void));
  int (*abort)(shoal_mpi_comm comm, int exit_code);
  /* Write a text of `capacity` at most, with its end. */
  int (*get_library_version)(char* text, size_t capacity);
  int (*error_string)(int code, char* text, size_t capacity);
  int (*error_class)(int code, int* error_class);
  /* Switches yields inside of the MPI's calls, and returns how they were; NULL: there are none. */
  int (*switch_yields)(int on);

  /* The communicator at `place`, an MPI_Comm of the program. */
  shoal_mpi_comm (*comm_at)(const void* place);
  shoal_mpi_comm (*comm_f2c)(int number);
  /* While errors without a communicator are returned, such as that of a handle that was freed. */
  int (*comm_test_inter)(shoal_mpi_comm comm, int* flag);
  int (*comm_return_errors)(shoal_mpi_comm comm); /* MPI_Comm_set_errhandler */
  int (*comm_idup)(shoal_mpi_comm comm, shoal_mpi_comm* copy, shoal_mpi_request* request);
  int (*comm_dup)(shoal_mpi_comm comm, shoal_mpi_comm* copy);
  int (*comm_split)(shoal_mpi_comm comm, int color, int key, shoal_mpi_comm* part);
  int (*comm_split_type_shared)(shoal_mpi_comm comm, int key, shoal_mpi_comm* part);
  int (*comm_free)(shoal_mpi_comm* comm);
  int (*comm_rank)(shoal_mpi_comm comm, int* rank);
  int (*comm_size)(shoal_mpi_comm comm, int* size);
  int (*comm_tag_ub)(shoal_mpi_comm comm, int* tag_max, int* found); /* MPI_Comm_get_attr */

  int (*isend)(const void* bytes, int size, int peer, int tag, shoal_mpi_comm comm,
               shoal_mpi_request* request);
  int (*issend)(const void* bytes, int size, int peer, int tag, shoal_mpi_comm comm,
                shoal_mpi_request* request);
  int (*irecv)(void* bytes, int size, int peer, int tag, shoal_mpi_comm comm,
               shoal_mpi_request* request);
  int (*send)(const void* bytes, int size, int peer, int tag, shoal_mpi_comm comm);
  int (*recv)(void* bytes, int size, int peer, int tag, shoal_mpi_comm comm);
  /* `status`: NULL, or written if `flag` is set. */
  int (*test)(shoal_mpi_request* request, int* flag, shoal_mpi_status* status);
  int (*testsome)(int count, shoal_mpi_request* requests, int* ended, int* indices,
                  shoal_mpi_status* statuses);
  int (*cancel)(shoal_mpi_request* request);
  int (*iprobe)(int peer, int tag, shoal_mpi_comm comm, int* flag);
  int (*get_count)(const shoal_mpi_status* status, int* size);

  int (*barrier)(shoal_mpi_comm comm);
  int (*bcast)(void* bytes, int size, int root, shoal_mpi_comm comm);
  int (*allgather)(const void* bytes, int size, void* all, shoal_mpi_comm comm);
  int (*allreduce_min)(const int* value, int* least, shoal_mpi_comm comm);
  int (*iallgather)(const void* bytes, int size, void* all, shoal_mpi_comm comm,
                    shoal_mpi_request* request);
  int (*iallgatherv)(const void* bytes, int size, void* all, const int* sizes, const int* offsets,
                     shoal_mpi_comm comm, shoal_mpi_request* request);
  int (*ialltoall)(const void* bytes, int size, void* all, shoal_mpi_comm comm,
                   shoal_mpi_request* request);

  int (*win_create_dynamic)(shoal_mpi_comm comm, shoal_mpi_win* win);
  int (*win_return_errors)(shoal_mpi_win win);         /* MPI_Win_set_errhandler */
  int (*win_is_unified)(shoal_mpi_win win, int* flag); /* MPI_Win_get_attr */
  int (*win_lock_all)(shoal_mpi_win win);              /* MPI_MODE_NOCHECK */
  int (*win_unlock_all)(shoal_mpi_win win);
  int (*win_attach)(shoal_mpi_win win, void* memory, size_t size);
  int (*win_detach)(shoal_mpi_win win, const void* memory);
  int (*win_free)(shoal_mpi_win* win);
  int (*rget)(void* bytes, int size, int peer, uint64_t address, shoal_mpi_win win,
              shoal_mpi_request* request);
} shoal_mpi_table;

/* The one function that a plug-in exports, shoal_mpi_plugin_table(): its table. */
typedef const shoal_mpi_table* shoal_mpi_table_function(void);
#define SHOAL_MPI_TABLE_FUNCTION "shoal_mpi_plugin_table"
