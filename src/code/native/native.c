// Functions of this program: there is nothing between the engine and them.

#include "code/codes.h"

const struct code code_native = {.name = "native", .number = 1};
