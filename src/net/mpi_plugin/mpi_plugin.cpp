// The table of one MPI: see net/mpi/mpi_table.h. The only source of shoal that includes mpi.h.

#include <mpi.h>

#include <cstring>

#include "net/mpi/mpi_table.h"

#ifndef SHOAL_MPI_PLUGIN_NAME
#error "SHOAL_MPI_PLUGIN_NAME is the plug-in's name, in quotes"
#endif

#if defined(MPI_ABI) && !defined(MPI_ABI_VERSION)
#error "this mpi.h is not that of the standard ABI"
#endif

// Not in Open MPI's interface, but exported from version 1.3 to 5.0.
extern "C" __attribute__((weak)) bool opal_progress_set_yield_when_idle(bool on);

namespace {

static_assert(MPI_SUCCESS == 0);
static_assert(sizeof(MPI_Comm) <= sizeof(shoal_mpi_comm));
static_assert(sizeof(MPI_Request) <= sizeof(shoal_mpi_request));
static_assert(sizeof(MPI_Win) <= sizeof(shoal_mpi_win));
static_assert(sizeof(MPI_Status) <= sizeof(shoal_mpi_status::mpi));

// Handles lie in the first bytes of the table's.

template <class Handle, class Mpi>
Handle wrap(const Mpi& mpi) {
  Handle handle{};
  std::memcpy(&handle, &mpi, sizeof(Mpi));
  return handle;
}

MPI_Comm unwrap(shoal_mpi_comm comm) {
  MPI_Comm mpi;
  std::memcpy(&mpi, &comm, sizeof(MPI_Comm));
  return mpi;
}

MPI_Win unwrap(shoal_mpi_win win) {
  MPI_Win mpi;
  std::memcpy(&mpi, &win, sizeof(MPI_Win));
  return mpi;
}

MPI_Comm* at(shoal_mpi_comm* comm) { return reinterpret_cast<MPI_Comm*>(comm); }
MPI_Request* at(shoal_mpi_request* request) { return reinterpret_cast<MPI_Request*>(request); }
MPI_Win* at(shoal_mpi_win* win) { return reinterpret_cast<MPI_Win*>(win); }

void take(const MPI_Status& mpi, shoal_mpi_status& status) {
  status.source = mpi.MPI_SOURCE;
  status.error = mpi.MPI_ERROR;
  std::memcpy(status.mpi, &mpi, sizeof mpi);
}

void copy_text(const char* from, char* text, size_t capacity) {
  if (capacity == 0) return;
  const size_t length = strnlen(from, capacity - 1);
  std::memcpy(text, from, length);
  text[length] = '\0';
}

// Start and end.

int level_of(int mpi_level) {
  if (mpi_level >= MPI_THREAD_MULTIPLE) return SHOAL_MPI_MULTIPLE;
  if (mpi_level >= MPI_THREAD_SERIALIZED) return SHOAL_MPI_SERIALIZED;
  return mpi_level >= MPI_THREAD_FUNNELED ? SHOAL_MPI_FUNNELED : SHOAL_MPI_SINGLE;
}

int init_thread(int level, int* granted) {
  const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                        MPI_THREAD_MULTIPLE};
  const int result = MPI_Init_thread(nullptr, nullptr, levels[level], granted);
  *granted = level_of(*granted);
  return result;
}

int query_thread(int* level) {
  const int result = MPI_Query_thread(level);
  *level = level_of(*level);
  return result;
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): MPI gives no place for it
void (*finalize_called)() = nullptr;

extern "C" int on_self_deleted(MPI_Comm /*self*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  if (finalize_called != nullptr) finalize_called();
  return MPI_SUCCESS;
}

int watch_finalize(void (*called)()) {
  finalize_called = called;
  int key = MPI_KEYVAL_INVALID;
  const int result = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &on_self_deleted, &key, nullptr);
  return result == MPI_SUCCESS ? MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr) : result;
}

int abort_all(shoal_mpi_comm comm, int exit_code) { return MPI_Abort(unwrap(comm), exit_code); }

int get_library_version(char* text, size_t capacity) {
  char all[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  const int result = MPI_Get_library_version(all, &length);
  copy_text(all, text, capacity);
  return result;
}

int error_string(int code, char* text, size_t capacity) {
  char all[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  const int result = MPI_Error_string(code, all, &length);
  copy_text(all, text, capacity);
  return result;
}

int switch_yields(int on) { return opal_progress_set_yield_when_idle(on != 0) ? 1 : 0; }

// Communicators.

shoal_mpi_comm comm_at(const void* place) {
  return wrap<shoal_mpi_comm>(*static_cast<const MPI_Comm*>(place));
}

shoal_mpi_comm comm_f2c(int number) {
#ifdef MPI_ABI  // has no Fortran; numbers are the same
  const MPI_Comm comm = MPI_Comm_fromint(number);
#else
  const MPI_Comm comm = MPI_Comm_f2c(static_cast<MPI_Fint>(number));
#endif
  return wrap<shoal_mpi_comm>(comm);
}

int comm_test_inter(shoal_mpi_comm comm, int* flag) {
  const MPI_Comm fallbacks[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler before[2];
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_get_errhandler(fallbacks[i], &before[i]);
    MPI_Comm_set_errhandler(fallbacks[i], MPI_ERRORS_RETURN);
  }
  const int result = MPI_Comm_test_inter(unwrap(comm), flag);
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_set_errhandler(fallbacks[i], before[i]);
    MPI_Errhandler_free(&before[i]);
  }
  return result;
}

int comm_return_errors(shoal_mpi_comm comm) {
  return MPI_Comm_set_errhandler(unwrap(comm), MPI_ERRORS_RETURN);
}

int comm_idup(shoal_mpi_comm comm, shoal_mpi_comm* copy, shoal_mpi_request* request) {
  return MPI_Comm_idup(unwrap(comm), at(copy), at(request));
}

int comm_dup(shoal_mpi_comm comm, shoal_mpi_comm* copy) {
  return MPI_Comm_dup(unwrap(comm), at(copy));
}

int comm_split(shoal_mpi_comm comm, int color, int key, shoal_mpi_comm* part) {
  return MPI_Comm_split(unwrap(comm), color, key, at(part));
}

int comm_split_type_shared(shoal_mpi_comm comm, int key, shoal_mpi_comm* part) {
  return MPI_Comm_split_type(unwrap(comm), MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, at(part));
}

int comm_free(shoal_mpi_comm* comm) { return MPI_Comm_free(at(comm)); }
int comm_rank(shoal_mpi_comm comm, int* rank) { return MPI_Comm_rank(unwrap(comm), rank); }
int comm_size(shoal_mpi_comm comm, int* size) { return MPI_Comm_size(unwrap(comm), size); }

int comm_tag_ub(shoal_mpi_comm comm, int* tag_max, int* found) {
  int* value = nullptr;
  const int result = MPI_Comm_get_attr(unwrap(comm), MPI_TAG_UB, static_cast<void*>(&value), found);
  if (result == MPI_SUCCESS && *found != 0) *tag_max = *value;
  return result;
}

// NOLINTBEGIN(readability-function-size): they have the parameters of MPI's.

// Messages.

int isend(const void* bytes, int size, int peer, int tag, shoal_mpi_comm comm,
          shoal_mpi_request* request) {
  return MPI_Isend(bytes, size, MPI_BYTE, peer, tag, unwrap(comm), at(request));
}

int issend(const void* bytes, int size, int peer, int tag, shoal_mpi_comm comm,
           shoal_mpi_request* request) {
  return MPI_Issend(bytes, size, MPI_BYTE, peer, tag, unwrap(comm), at(request));
}

int irecv(void* bytes, int size, int peer, int tag, shoal_mpi_comm comm,
          shoal_mpi_request* request) {
  return MPI_Irecv(bytes, size, MPI_BYTE, peer, tag, unwrap(comm), at(request));
}

int send(const void* bytes, int size, int peer, int tag, shoal_mpi_comm comm) {
  return MPI_Send(bytes, size, MPI_BYTE, peer, tag, unwrap(comm));
}

int recv(void* bytes, int size, int peer, int tag, shoal_mpi_comm comm) {
  return MPI_Recv(bytes, size, MPI_BYTE, peer, tag, unwrap(comm), MPI_STATUS_IGNORE);
}

int test(shoal_mpi_request* request, int* flag, shoal_mpi_status* status) {
  if (status == nullptr) return MPI_Test(at(request), flag, MPI_STATUS_IGNORE);
  MPI_Status mpi;
  const int result = MPI_Test(at(request), flag, &mpi);
  if (*flag != 0) take(mpi, *status);
  return result;
}

int testsome(int count, shoal_mpi_request* requests, int* ended, int* indices,
             shoal_mpi_status* statuses) {
  MPI_Status mpi[SHOAL_MPI_TESTSOME_MAX];
  int result = MPI_SUCCESS;
  if constexpr (sizeof(MPI_Request) == sizeof(shoal_mpi_request)) {
    result = MPI_Testsome(count, at(requests), ended, indices, mpi);
  } else {  // their handles are smaller: side by side for the call
    MPI_Request together[SHOAL_MPI_TESTSOME_MAX];
    for (int i = 0; i < count; ++i) together[i] = *at(requests + i);
    result = MPI_Testsome(count, together, ended, indices, mpi);
    if (*ended != MPI_UNDEFINED) {
      for (int i = 0; i < *ended; ++i) *at(requests + indices[i]) = together[indices[i]];
    }
  }
  if (*ended != MPI_UNDEFINED) {
    for (int i = 0; i < *ended; ++i) take(mpi[i], statuses[i]);
  }
  return result;
}

int cancel(shoal_mpi_request* request) { return MPI_Cancel(at(request)); }

int iprobe(int peer, int tag, shoal_mpi_comm comm, int* flag) {
  return MPI_Iprobe(peer, tag, unwrap(comm), flag, MPI_STATUS_IGNORE);
}

int get_count(const shoal_mpi_status* status, int* size) {
  MPI_Status mpi;
  std::memcpy(&mpi, status->mpi, sizeof mpi);
  return MPI_Get_count(&mpi, MPI_BYTE, size);
}

// Collectives.

int barrier(shoal_mpi_comm comm) { return MPI_Barrier(unwrap(comm)); }

int bcast(void* bytes, int size, int root, shoal_mpi_comm comm) {
  return MPI_Bcast(bytes, size, MPI_BYTE, root, unwrap(comm));
}

int allgather(const void* bytes, int size, void* all, shoal_mpi_comm comm) {
  return MPI_Allgather(bytes, size, MPI_BYTE, all, size, MPI_BYTE, unwrap(comm));
}

int allreduce_min(const int* value, int* least, shoal_mpi_comm comm) {
  return MPI_Allreduce(value, least, 1, MPI_INT, MPI_MIN, unwrap(comm));
}

int iallgather(const void* bytes, int size, void* all, shoal_mpi_comm comm,
               shoal_mpi_request* request) {
  return MPI_Iallgather(bytes, size, MPI_BYTE, all, size, MPI_BYTE, unwrap(comm), at(request));
}

int iallgatherv(const void* bytes, int size, void* all, const int* sizes, const int* offsets,
                shoal_mpi_comm comm, shoal_mpi_request* request) {
  return MPI_Iallgatherv(bytes, size, MPI_BYTE, all, sizes, offsets, MPI_BYTE, unwrap(comm),
                         at(request));
}

int ialltoall(const void* bytes, int size, void* all, shoal_mpi_comm comm,
              shoal_mpi_request* request) {
  return MPI_Ialltoall(bytes, size, MPI_BYTE, all, size, MPI_BYTE, unwrap(comm), at(request));
}

// Windows.

int win_create_dynamic(shoal_mpi_comm comm, shoal_mpi_win* win) {
  return MPI_Win_create_dynamic(MPI_INFO_NULL, unwrap(comm), at(win));
}

int win_return_errors(shoal_mpi_win win) {
  return MPI_Win_set_errhandler(unwrap(win), MPI_ERRORS_RETURN);
}

int win_is_unified(shoal_mpi_win win, int* flag) {
  int* model = nullptr;
  int found = 0;
  const int result =
      MPI_Win_get_attr(unwrap(win), MPI_WIN_MODEL, static_cast<void*>(&model), &found);
  *flag = result == MPI_SUCCESS && found != 0 && *model == MPI_WIN_UNIFIED ? 1 : 0;
  return result;
}

int win_lock_all(shoal_mpi_win win) { return MPI_Win_lock_all(MPI_MODE_NOCHECK, unwrap(win)); }
int win_unlock_all(shoal_mpi_win win) { return MPI_Win_unlock_all(unwrap(win)); }

int win_attach(shoal_mpi_win win, void* memory, size_t size) {
  return MPI_Win_attach(unwrap(win), memory, static_cast<MPI_Aint>(size));
}

int win_detach(shoal_mpi_win win, const void* memory) {
  return MPI_Win_detach(unwrap(win), memory);
}

int win_free(shoal_mpi_win* win) { return MPI_Win_free(at(win)); }

// An address is the same number for MPI: heaps are below MPI_Aint's largest one.
int rget(void* bytes, int size, int peer, uint64_t address, shoal_mpi_win win,
         shoal_mpi_request* request) {
  return MPI_Rget(bytes, size, MPI_BYTE, peer, static_cast<MPI_Aint>(address), size, MPI_BYTE,
                  unwrap(win), at(request));
}

// NOLINTEND(readability-function-size)

#define SHOAL_TEXT_OF(number) #number
#define SHOAL_TEXT(number) SHOAL_TEXT_OF(number)

const char* header() {
#if defined(OMPI_MAJOR_VERSION)
  return "Open MPI " SHOAL_TEXT(OMPI_MAJOR_VERSION) "." SHOAL_TEXT(OMPI_MINOR_VERSION);
#elif defined(MPI_ABI_VERSION)
  return "the standard ABI " SHOAL_TEXT(MPI_ABI_VERSION) "." SHOAL_TEXT(MPI_ABI_SUBVERSION);
#elif defined(MPICH_VERSION)
  return "MPICH " MPICH_VERSION;
#else
  return "MPI " SHOAL_TEXT(MPI_VERSION) "." SHOAL_TEXT(MPI_SUBVERSION);
#endif
}

// NOLINTNEXTLINE(readability-function-size): a list
shoal_mpi_table make_table() {
  shoal_mpi_table table = {};
  table.version = SHOAL_MPI_TABLE_VERSION;
  table.size_bytes = sizeof table;
  table.plugin = SHOAL_MPI_PLUGIN_NAME;
  table.header = header();
  table.any_source = MPI_ANY_SOURCE;
  table.undefined = MPI_UNDEFINED;
  table.err_truncate = MPI_ERR_TRUNCATE;
  table.err_other = MPI_ERR_OTHER;
  table.err_pending = MPI_ERR_PENDING;
  table.err_in_status = MPI_ERR_IN_STATUS;
  const MPI_Comm null = MPI_COMM_NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  const MPI_Comm self = MPI_COMM_SELF;
  const MPI_Request no_request = MPI_REQUEST_NULL;
  const MPI_Win no_win = MPI_WIN_NULL;
  table.comm_null = wrap<shoal_mpi_comm>(null);
  table.comm_world = wrap<shoal_mpi_comm>(world);
  table.comm_self = wrap<shoal_mpi_comm>(self);
  table.request_null = wrap<shoal_mpi_request>(no_request);
  table.win_null = wrap<shoal_mpi_win>(no_win);
  table.initialized = &MPI_Initialized;
  table.finalized = &MPI_Finalized;
  table.init_thread = &init_thread;
  table.query_thread = &query_thread;
  table.finalize = &MPI_Finalize;
  table.watch_finalize = &watch_finalize;
  table.abort = &abort_all;
  table.get_library_version = &get_library_version;
  table.error_string = &error_string;
  table.error_class = &MPI_Error_class;
  if (&opal_progress_set_yield_when_idle != nullptr) table.switch_yields = &switch_yields;
  table.comm_at = &comm_at;
  table.comm_f2c = &comm_f2c;
  table.comm_test_inter = &comm_test_inter;
  table.comm_return_errors = &comm_return_errors;
  table.comm_idup = &comm_idup;
  table.comm_dup = &comm_dup;
  table.comm_split = &comm_split;
  table.comm_split_type_shared = &comm_split_type_shared;
  table.comm_free = &comm_free;
  table.comm_rank = &comm_rank;
  table.comm_size = &comm_size;
  table.comm_tag_ub = &comm_tag_ub;
  table.isend = &isend;
  table.issend = &issend;
  table.irecv = &irecv;
  table.send = &send;
  table.recv = &recv;
  table.test = &test;
  table.testsome = &testsome;
  table.cancel = &cancel;
  table.iprobe = &iprobe;
  table.get_count = &get_count;
  table.barrier = &barrier;
  table.bcast = &bcast;
  table.allgather = &allgather;
  table.allreduce_min = &allreduce_min;
  table.iallgather = &iallgather;
  table.iallgatherv = &iallgatherv;
  table.ialltoall = &ialltoall;
  table.win_create_dynamic = &win_create_dynamic;
  table.win_return_errors = &win_return_errors;
  table.win_is_unified = &win_is_unified;
  table.win_lock_all = &win_lock_all;
  table.win_unlock_all = &win_unlock_all;
  table.win_attach = &win_attach;
  table.win_detach = &win_detach;
  table.win_free = &win_free;
  table.rget = &rget;
  return table;
}

// Filled by the loader of shared libraries, before anything can call the function below.
const shoal_mpi_table the_table = make_table();

}  // namespace

extern "C" __attribute__((visibility("default"))) const shoal_mpi_table* shoal_mpi_plugin_table() {
  return &the_table;
}
