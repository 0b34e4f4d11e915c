// TensorBoard beside a run: its address is reported once it listens, or the reason why it does not. It says so itself, in
// one line of its output, which works for a TensorBoard on any machine and for a command of the user's own.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew/cluster_run_state.h"

enum {
    DEADLINE_S = 60,         // it imports half of TensorFlow where that is installed
    SEEN_BYTES_MAX = 16384,  // of its output, of which it is looked for
    EXIT_NOT_FOUND = 127,    // of a shell
};

struct run_tensorboard {
    struct run_member *member;
    struct loop_timer *deadline;  // NULL: its address is known, or it has ended
    struct buf seen;
};

static bool is_tensorboard(const struct run_member *member)
{
    return strcmp(member->seat.role->name, CREW_ROLE_TENSORBOARD) == 0;
}

static void forget(struct run_tensorboard *board)
{
    loop_timer_free(board->deadline);
    board->deadline = NULL;
    buf_fini(&board->seen);
}

static void late(void *owner)
{
    struct run_tensorboard *board = owner;
    struct run *run = board->member->run;
    char text[128];
    snprintf(text, sizeof text, "%s has not reported an address in %d s: the run continues",
             board->member->name, DEADLINE_S);
    forget(board);
    talk_news(run, text);
}

void run_begin_tensorboard(struct run_member *member)
{
    struct run *run = member->run;
    if (!is_tensorboard(member))
        return;
    if (!run->tensorboard)
        run->tensorboard = calloc(1, sizeof *run->tensorboard);
    if (!run->tensorboard)
        return;  // it runs nevertheless
    forget(run->tensorboard);
    run->tensorboard->member = member;
    run->tensorboard->deadline =
        loop_timer_new(run->loop, DEADLINE_S * 1000, 0, late, run->tensorboard);
}

// "TensorBoard 2.21.0 at http://127.0.0.1:6006/ (Press CTRL+C to quit)"
static const char *find_address(struct buf *seen, size_t *length)
{
    const char *found = strstr(buf_text(seen), " at http");
    if (!found)
        return NULL;
    found += strlen(" at ");
    *length = strcspn(found, " \r\n");
    return found[*length] ? found : NULL;  // the rest of it is still to come
}

void run_watch_tensorboard(struct run_member *member, weft_bytes output)
{
    struct run_tensorboard *board = member->run->tensorboard;
    size_t length;
    if (!board || board->member != member || !board->deadline)
        return;
    if (board->seen.size + output.size > SEEN_BYTES_MAX)
        board->seen.size = 0;
    buf_append(&board->seen, output.data,
               output.size < SEEN_BYTES_MAX ? output.size : SEEN_BYTES_MAX);
    const char *address = find_address(&board->seen, &length);
    if (!address)
        return;
    struct buf text = {0};
    buf_append_text(&text, "TensorBoard: ");
    buf_append(&text, address, length);
    forget(board);
    talk_news(member->run, buf_text(&text));
    buf_fini(&text);
}

void run_end_tensorboard(struct run_member *member, const struct launch_exit *end)
{
    struct run *run = member->run;
    struct run_tensorboard *board = run->tensorboard;
    if (!board || board->member != member || !board->deadline)
        return;
    forget(board);
    const bool is_missing = end->process.is_known && !end->process.was_signalled &&
                            end->process.number == EXIT_NOT_FOUND;
    if (is_missing && !run->crew.is_stopping)
        talk_news(run, "TensorBoard is not installed where it should run\n"
                       "  try: pip install tensorboard, with its directory in PATH");
}

void run_free_tensorboard(struct run *run)
{
    if (run->tensorboard)
        buf_fini(&run->tensorboard->seen);  // its timer went with the loop
    free(run->tensorboard);
}
