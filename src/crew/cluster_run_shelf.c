// The shelf of a run that a launcher keeps: people see the run there, and ask it there to end.

#include "crew/cluster_run_state.h"
#include "crew/shelf.h"
#include "sys/process/signals.h"

enum { SIGNAL_TERMINATE = 15 };

static void end_asked(void *owner)
{
    struct run *run = owner;
    if (run->is_over)
        return;
    run->is_asked_to_end = true;
    talk_stopping(run, "the end is asked for: the members are asked to end");
    run_ask_to_stop(run, signal_exit_code(SIGNAL_TERMINATE));
    if (!run->has_begun)
        loop_stop(run->loop);
}

static void news_came(void *owner, const char *text)
{
    talk_news(owner, text);
}

weft_err run_open_shelf(struct run *run)
{
    const struct shelf_options options = {
        .loop = run->loop,
        .place = run->options->shelf,
        .directory = run->options->state_directory,
        .asked = end_asked,
        .news = news_came,
        .owner = run,
    };
    if (!run->options->shelf)
        return WEFT_OK;
    run->shelf = shelf_new(&options);
    return run->shelf ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

// Before the launcher reports the end to its scheduler: with that, the process of the run may go. A run that was refused has not said so yet.
void run_close_shelf(struct run *run)
{
    if (run->shelf && run->refusal) {
        run->is_over = true;
        run->exit_code = err_exit_code(run->refusal);
        run_save(run);
    }
    shelf_free(run->shelf);
    run->shelf = NULL;
}
