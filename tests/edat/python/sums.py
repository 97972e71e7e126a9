"""Each rank sums a part of the numbers from 0; rank 0 adds up the sums of all."""
# [example]
from edat import *

PART = 100


def add_up(events, num_events):
    total = sum(event.get_data()[0] for event in events)
    print(f"{num_events} parts, the last from rank {events[-1].metadata.source}: {total}")


edatInit({"EDAT_NUM_WORKERS": 2})
rank = edatGetRank()
if rank == 0:
    edatSubmitTask(add_up, 1, EDAT_ALL, "part")
numbers = range(rank * PART, (rank + 1) * PART)
edatFireEvent(sum(numbers), EDAT_LONG, 1, 0, "part")
edatFinalise()
# [/example]
