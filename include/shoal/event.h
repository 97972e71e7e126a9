/* Tasks and events for C: everything is in the header below. */
#ifndef SHOAL_EVENT_H
#define SHOAL_EVENT_H

#include <shoal/c_api/event.h>

#endif
