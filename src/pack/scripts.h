// scripts: the files of a venv that have its path in them, without it. Pure functions of their text.
#ifndef PACK_SCRIPTS_H
#define PACK_SCRIPTS_H

#include "base/buf.h"

// Rewrites a script whose first line (or second one, after the line for a shell that pip writes for long paths) starts an interpreter
// whose path begins with one of `roots` and "/bin/": it starts that of its own directory instead. False: it is not such a script; nothing is appended.
bool scripts_move(weft_bytes script, const char *const *roots, struct buf *moved);

// Rewrites bin/activate for bash, zsh and ksh: it finds the venv by its own path. False: it does not name one of the roots.
bool scripts_move_activate(weft_bytes script, const char *const *roots, struct buf *moved);

#endif
