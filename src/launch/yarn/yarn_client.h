// yarn_client: the calls that clients make to a resource manager. Thread: that of the link.
#ifndef LAUNCH_YARN_YARN_CLIENT_H
#define LAUNCH_YARN_YARN_CLIENT_H

#include "launch/yarn/yarn_link.h"
#include "launch/yarn/yarn_words.h"

enum yarn_app_state {
    YARN_APP_NEW = 1,
    YARN_APP_SAVING,
    YARN_APP_SUBMITTED,
    YARN_APP_ACCEPTED,
    YARN_APP_RUNNING,
    YARN_APP_FINISHED,
    YARN_APP_FAILED,
    YARN_APP_KILLED,
};

// How YARN calls the end that a master has reported.
enum { YARN_FINAL_SUCCEEDED = 1, YARN_FINAL_FAILED = 2, YARN_FINAL_KILLED = 3 };

// `maximum` is the largest container; NULL: it is not asked for.
MUST_CHECK weft_err yarn_new_app(struct yarn_link *link, struct yarn_app_id *app,
                                 Hadoop__Resource *maximum);
// May be repeated. An unknown queue is taken, too: the application then fails.
MUST_CHECK weft_err yarn_submit(struct yarn_link *link, const Hadoop__Submission *submission);
// *answer has a report, and is freed by yarn_free. NOT_FOUND: there is no such application.
MUST_CHECK weft_err yarn_get_report(struct yarn_link *link, const struct yarn_app_id *app,
                                    Hadoop__ReportAnswer **answer);
// Until it has ended, or the deadline (clock_now_ns).
MUST_CHECK weft_err yarn_kill(struct yarn_link *link, const struct yarn_app_id *app,
                              const char *why, uint64_t deadline_ns);
// Of the node managers that run. Freed by yarn_free.
MUST_CHECK weft_err yarn_get_nodes(struct yarn_link *link, Hadoop__NodesAnswer **answer);
// NOT_FOUND: there is no such queue. Freed by yarn_free.
MUST_CHECK weft_err yarn_get_queue(struct yarn_link *link, const char *name,
                                   Hadoop__QueueAnswer **answer);

// Why an application is over, after its report: ABORTED, FAILED_PRECONDITION; OK: it is not, or has succeeded.
MUST_CHECK weft_err yarn_judge_report(const Hadoop__AppReport *report);

// What an application is in YARN; `submission` is empty before. INVALID_ARGUMENT: it is not as it has to be.
MUST_CHECK weft_err yarn_set_submission(struct yarn_maker *maker,
                                        const struct yarn_application *application,
                                        const char *queue, Hadoop__Submission *submission);

#endif
