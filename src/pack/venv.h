// venv: lists a virtual environment of Python for an archive, so that it runs wherever it is unpacked: with its interpreter
// (interpreter.h), scripts that find it beside themselves, and the editable installs, which are elsewhere on this machine (editable.h).
#ifndef PACK_VENV_H
#define PACK_VENV_H

#include "pack/content.h"
#include "pack/gather.h"
#include "pack/label.h"

// Whether the directory is one: it has a pyvenv.cfg.
bool venv_is_one(const char *path);

// INVALID_ARGUMENT: it cannot travel, and the sentence has the reason. NOT_FOUND: a part of it is not there.
MUST_CHECK weft_err venv_list(const char *path, const struct gather_rules *rules,
                              struct label *label, struct content *content);

#endif
