/* wrapper.c -- the memory that is kept for new arrays. */
#include "python/record/wrapper.h"

struct array *wrapper_spare[MAX_SPARE];
int wrapper_n_spare;

void wrapper_clear(void)
{
    freefunc release = (freefunc)PyType_GetSlot(array_type, Py_tp_free);
    while (wrapper_n_spare > 0)
        release(wrapper_spare[--wrapper_n_spare]);
}
