/* crossing.c -- objects that cross a door without a call, as door.c converts them. */
#include "python/packages/crossing.h"

struct crossing crossing;
