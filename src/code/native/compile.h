// compile: a C or C++ source file becomes a program, built with the system's compiler and kept.
//
// The cache is ${XDG_CACHE_HOME:-~/.cache}/weft/jobs. A program is found again by its ingredients:
// the preprocessed source, and so all its included files, the compiler, its flags and libweft. If
// there are others (libraries among the flags, LIBRARY_PATH) it is built again. $CC names the
// compiler (default cc), $CFLAGS adds to -O2; for .cpp, .cc, .cxx, .c++ and .C these are $CXX (c++)
// and $CXXFLAGS. Thread: any.
#ifndef CODE_NATIVE_COMPILE_H
#define CODE_NATIVE_COMPILE_H

#include "base/err.h"

struct compile_spec {
    const char *source;  // path
    int messages;        // where the compiler's words go; -1: standard error
};

// Gives the path of the program, which the caller frees. A source that does not compile is
// FAILED_PRECONDITION after the compiler has said why, a missing one NOT_FOUND, no compiler
// UNIMPLEMENTED with what to install.
MUST_CHECK weft_err compile_source(const struct compile_spec *spec, char **program);

// Whether the name is that of a source: it ends with .c or as C++ does.
bool compile_is_source(const char *name);

// Whether a program calls weft_main: INVALID_ARGUMENT says that `name`, as the user calls it, does not.
// The file is only read, not run: running an unknown program could do anything.
MUST_CHECK weft_err compile_check_program(const char *path, const char *name);

#endif
