// make: the code of this run as a package, and the files of it open, for a server to serve. Thread: one owner.
#ifndef RUN_PACKAGE_MAKE_H
#define RUN_PACKAGE_MAKE_H

#include "run/options.h"
#include "run/package/package.h"
#include "transport/fetch_files.h"

struct made_package;

// Lists the program that is running, its shared libraries, and the files that the job's options name (--file of commands, the
// scripts of Python), and hashes them all. `first_file` is the number by which the first of them is served; the others follow.
// INVALID_ARGUMENT: a file cannot travel (a directory, two of one name); NOT_FOUND: it is not there.
MUST_CHECK weft_err package_make(const struct run_options *options, uint64_t first_file,
                                 struct made_package **package);
void package_free(struct made_package *package);  // NULL is fine

const Weft__CodePackage *package_message(const struct made_package *package);

// Serves its files. They are open until package_free, which comes after fetch_files_free or package_withdraw.
MUST_CHECK weft_err package_serve(const struct made_package *package, struct fetch_files *files);
void package_withdraw(const struct made_package *package, struct fetch_files *files);

#endif
