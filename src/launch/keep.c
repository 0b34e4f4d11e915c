// What all keepers have.

#include "launch/keep.h"

void keep_made_fini(struct keep_made *made)
{
    buf_fini(&made->shelf);
    buf_fini(&made->inner_shelf);
    buf_fini(&made->inner_url);
}

void keep_report_fini(struct keep_report *report)
{
    buf_fini(&report->why);
    buf_fini(&report->where);
}
