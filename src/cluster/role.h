// role: the names of roles, and how what a user wrote is shown in a sentence.
#ifndef CLUSTER_ROLE_H
#define CLUSTER_ROLE_H

#include "base/err.h"

enum {
    ROLE_BYTES_MAX = 127,         // of a name; TensorFlow has no limit, file names do
    ROLE_INDEX_MAX = 2147483647,  // TensorFlow's int32
};

// A letter, then letters, digits and '_': what TensorFlow takes for a job. So no name can hold the
// ':' that begins TensorFlow's own parts of a path.
bool role_is_name(weft_bytes text);

// The same as an INVALID_ARGUMENT that shows the name and the rule.
MUST_CHECK weft_err role_check_name(weft_bytes text);

// A whole decimal number from 0 to ROLE_INDEX_MAX; leading zeros are fine, signs and blanks are not.
bool role_read_index(weft_bytes text, uint32_t *index);

// A text of the user, in quotes, on one line, cut to a length that leaves room for the sentence.
// Lives to the end of the expression: err_set(..., "%s is not a name", role_quote(text).text).
struct role_quoted {
    char text[96];
};
struct role_quoted role_quote(weft_bytes text);

#endif
