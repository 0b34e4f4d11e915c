// mines.c, taking blocks of lines.
#define TAKES_BLOCKS
#include "mines.c"
