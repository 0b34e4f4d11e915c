// What output_far.c (parts and their way), output_far_names.c and output_far_earlier.c (runs before this one) share.
#ifndef STORE_OUTPUT_FAR_STATE_H
#define STORE_OUTPUT_FAR_STATE_H

#include "store/journal_copy.h"
#include "store/output_state.h"
#include "store/shipper.h"

enum {
    FAR_PATIENCE_MS = 60000,   // a job waits for a name node that restarts
    FAR_NAME_BYTES_MAX = 180,  // of the answer's last name: with what we add it must stay under 255
    FAR_MACHINE_BYTES = 9,     // 8 hexadecimal digits and their end
};

struct output_far {
    struct store_place *place;
    struct shipper *shipper;
    char *temporary, *aside;  // names there
    bool has_temporary;
    struct part_files from, to;
    uint32_t *left;  // for each part: pieces that are not committed
    char machine[FAR_MACHINE_BYTES];

    // A run before this one that can be continued.
    char *earlier;            // its directory there; NULL: there is none
    uint32_t earlier_number;  // of its journal
    uint32_t next_number;     // for that of this run
    uint64_t *sizes;  // for each part of the earlier run: its bytes; UINT64_MAX: it is not there
    bool *is_there;   // for each part: it need not be put there
    struct journal_copy *journal;  // NULL: it cannot be continued from there
};

const char *output_far_last_name(const char *path);

// Where process numbers mean the same processes: a machine since it was started, and in it a container.
void output_far_name_machine(char machine[FAR_MACHINE_BYTES]);

// ".NAME.weft-MACHINE-", and then the process and a random number: the names of the runs of this machine.
void output_far_append_hidden(const struct output_far *far, struct buf *text);

// The name there, which no other run has.
MUST_CHECK weft_err output_far_name_there(struct output_far *far);
// The name here: the same for every run of the user's that writes there, so that the next one continues this one.
MUST_CHECK weft_err output_far_name_here(struct output *output,
                                         const struct output_options *options);

// Gives the earlier run's directory the name of this one, so that no other run can, and looks at its parts. False: there is none.
MUST_CHECK weft_err output_far_take_earlier(struct output *output, bool *is_taken);
void output_far_forget_earlier(struct output_far *far);

// Removes what killed runs of this machine have left. Nothing that fails here keeps the run from its work.
void output_far_tidy(const struct output *output);

#endif
