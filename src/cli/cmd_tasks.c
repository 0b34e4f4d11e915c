// weft tasks: the commands of a task queue. They are written in Python, as the tasks are (python/weft/tasks); here is
// their help, and the way to the interpreter.

#include "cli/cli.h"
#include "code/python/python.h"

static const char help[] =
    "Runs the tasks of Python programs: functions that other programs call by a queue of a host.\n"
    "\n"
    "  weft tasks worker sums                     runs the tasks of sums.py until Ctrl-C\n"
    "  weft tasks worker sums:other -c 8          of its app `other`, in 8 processes\n"
    "  weft tasks call sums add 2 3               calls one and prints its result\n"
    "  weft tasks dead sums                       lists those that failed for good\n"
    "  weft tasks dead sums --retry               sends them again\n"
    "\n"
    "Usage: weft tasks worker [options] MODULE[:APP]\n"
    "       weft tasks call [options] MODULE[:APP] TASK [ARGUMENT...]\n"
    "       weft tasks dead [options] MODULE[:APP]\n"
    "\n"
    "Options:\n"
    "  -c, --concurrency N   how many processes run tasks (default: one for each core)\n"
    "      --timeout SECONDS how long `call` waits for the result (default: no limit)\n"
    "      --retry           send the tasks again that `dead` lists\n"
    "      --broker ADDRESS  the host, HOST[:PORT][#TOKEN], instead of the one in the module\n"
    "  -q, --quiet           do not report failures and retries\n"
    "  -h, --help            this help\n"
    "\n"
    "A module has an app and its tasks:\n"
    "\n"
    "  from weft.tasks import App\n"
    "  app = App(\"sums\", broker=\"localhost:18125\")\n"
    "\n"
    "  @app.task\n"
    "  def add(x, y):\n"
    "      return x + y\n"
    "\n"
    "An argument is JSON; one that is not JSON is a text. SIGTERM lets a task end that runs.\n"
    "The interpreter is WEFT_PYTHON, else the python3 beside this program, else that in PATH.\n"
    "Exit: 0 done; 1 the task failed; 2 wrong usage, or the module cannot be used; 3 the host is\n"
    "out of reach; 4 no such task; 6 the time is over.\n";

void help_format_tasks(struct buf *buf)
{
    buf_append_text(buf, help);
}

int cmd_tasks(char *const *words, size_t count)
{
    bool is_help = count == 0 || strcmp(words[0], "help") == 0;
    for (size_t i = 0; i < count; i++)
        is_help = is_help || strcmp(words[i], "--help") == 0 || strcmp(words[i], "-h") == 0;
    if (is_help)
        return cmd_help((char *const[]){"tasks"}, 1);
    return cli_fail(python_run_tasks(words), false);
}
