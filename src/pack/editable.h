// editable: packages that were installed by `pip install -e`: the venv only has the path of their source. The source travels with the archive
// in .editable/N, and the venv has that path.
#ifndef PACK_EDITABLE_H
#define PACK_EDITABLE_H

#include "pack/content.h"
#include "pack/gather.h"

// Of a sorted content with the venv's files; `packages` is the path of its site-packages in the archive, `venv` that of the venv without links. Ships what .pth files name, and
// the packages of setuptools' __editable___NAME_finder.py. INVALID_ARGUMENT names an editable install of another kind.
MUST_CHECK weft_err editable_list(struct content *content, const char *packages, const char *venv,
                                  const struct gather_rules *rules);

#endif
