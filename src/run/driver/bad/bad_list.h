// bad_list: the side file that lists bad records (--bad-records). It lies among the user's files, so its place is checked
// before the work: it never replaces an input or the output, and a file is only removed or replaced if every byte of
// it is known to be of a list that a run has written. Thread: that of the loop.
#ifndef RUN_DRIVER_BAD_LIST_H
#define RUN_DRIVER_BAD_LIST_H

#include "base/buf.h"
#include "mapreduce/record_place.h"
#include "run/options.h"
#include "store/inputs.h"
#include "sys/file/file.h"

// The file at the place of the list.
struct bad_list_place {
    enum file_kind kind;
    uint64_t device, inode;
    int number;             // a name for a descriptor of this process; -1: none
    bool is_old, is_empty;  // a list that a run has written, every line of it
};

struct bad_list {
    const struct run_options *options;
    struct bad_list_place there;
};

void bad_list_init(struct bad_list *list, const struct run_options *options);

// Whether the list can be written, before the work: a file that is not a list is ALREADY_EXISTS without --force, the
// output is INVALID_ARGUMENT; and when the inputs are known, one of them. Nothing is checked without --skip-bad.
MUST_CHECK weft_err bad_list_check(struct bad_list *list);
MUST_CHECK weft_err bad_list_check_inputs(const struct bad_list *list, const struct inputs *inputs);
// The path of a list of an earlier run, which is not an input; NULL: there is none.
const char *bad_list_old_path(const struct bad_list *list);

// One line of the list.
void bad_list_append(struct buf *text, const char *file, const struct bad_record *bad);
MUST_CHECK weft_err bad_list_write(const struct bad_list *list, const struct buf *text);
// Removes a list of an earlier run, and nothing else.
MUST_CHECK weft_err bad_list_remove(const struct bad_list *list);

#endif
