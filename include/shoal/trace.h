/* Traces for C: everything is in the header below. */
#ifndef SHOAL_TRACE_H
#define SHOAL_TRACE_H

#include <shoal/c_api/trace.h>

#endif
