#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_provider.h"

void shoal_bench_lttng_events(uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    lttng_ust_tracepoint(shoal_bench, task_ended, i, 0, 0);
  }
}
