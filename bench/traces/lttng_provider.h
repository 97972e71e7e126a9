/* The event of trace_events_lttng: as many bytes of payload as one of shoal's. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shoal_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_provider.h"

#if !defined(SHOAL_BENCH_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SHOAL_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(
  shoal_bench, task_ended,
  LTTNG_UST_TP_ARGS(uint64_t, id, uint64_t, value, uint32_t, name),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint64_t, id, id)
    lttng_ust_field_integer(uint64_t, value, value)
    lttng_ust_field_integer(uint32_t, name, name)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
