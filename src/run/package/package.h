// package: the code of a job, as it travels from a server to its clients: a list of files, each with its name, its size and
// the SHA-256 of its content. The content itself is fetched (transport/fetch.h), and only by a client that lacks it.
//
// The program is the one that the server runs itself: its workers elsewhere are then of the same version and speak the same
// frames. Its shared libraries come along, except the C library.
#ifndef RUN_PACKAGE_PACKAGE_H
#define RUN_PACKAGE_PACKAGE_H

#include "base/err.h"
#include "wire/messages.h"

enum package_role {
    PACKAGE_PROGRAM = 1,  // what workers are started from; one
    PACKAGE_LIBRARY,      // a shared library of it, by the name that the loader looks for
    PACKAGE_DATA,         // a file in or below the directory where the worker and its commands run
};

// The limits of a package, so that a server cannot cost a client more memory or disk.
enum { PACKAGE_FILES_MAX = 1024, PACKAGE_NAME_BYTES_MAX = 255, PACKAGE_VERSION_BYTES_MAX = 15 };
#define PACKAGE_BYTES_MAX (UINT64_C(4) << 30)

// Whether a message from outside is a package: kinds, roles, names, sizes and hashes are within their limits, no two files
// would have one place, and there is one program. INVALID_ARGUMENT says what is wrong. Everything below relies on it.
MUST_CHECK weft_err package_check(const Weft__CodePackage *package);

// Whether a file may be called that: 1 to 255 bytes, no slash and no control character, not "." or "..".
bool package_is_name(const char *name);

// Whether a data file may be called that: such names with a slash between them, 255 bytes in all. All but the last are directories.
bool package_is_path(const char *path);

// A copy, which message_free frees. NULL with a sentence: no memory.
Weft__CodePackage *package_copy(const Weft__CodePackage *package);

#endif
