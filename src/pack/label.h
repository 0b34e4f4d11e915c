// label: the first file of an archive of `weft pack`, ".weft-pack": what the archive is, and how much there is in it, so that
// unpacking can be bounded before it begins. JSON, at most 64 KiB:
//
//     {"format":1,"kind":"venv","name":"venv","entries":5123,"bytes":104857600,"python":"3.11","home":""}
#ifndef PACK_LABEL_H
#define PACK_LABEL_H

#include "base/buf.h"
#include "base/err.h"

enum label_kind {
    LABEL_DIRECTORY,  // any directory, or the content of a tar archive
    LABEL_VENV,       // a virtual environment of Python, with its interpreter: bin/python, bin/...
    LABEL_PEX,        // one executable file, called by the archive's name
};

enum {
    LABEL_FORMAT = 1,
    LABEL_BYTES_MAX = 64 << 10,
    LABEL_ENTRIES_MAX = 4 << 20,
    LABEL_NAME_BYTES = 128,
    LABEL_PYTHON_BYTES = 16,
};
#define LABEL_CONTENT_BYTES_MAX (UINT64_C(256) << 30)
#define LABEL_NAME ".weft-pack"

struct label {
    enum label_kind kind;
    char name[LABEL_NAME_BYTES];      // the last part of the path that was packed
    char python[LABEL_PYTHON_BYTES];  // of a venv: "3.11"; else ""
    bool needs_home;                  // pyvenv.cfg has to name the place where it was unpacked
    uint64_t entries;                 // files, directories and links after this one
    uint64_t bytes;                   // of all files together
};

void label_write(const struct label *label, struct buf *buf);

// DATA_LOSS: it is none; UNIMPLEMENTED: it is one of a newer version.
MUST_CHECK weft_err label_read(weft_bytes text, struct label *label);

const char *label_kind_name(enum label_kind kind);

#endif
