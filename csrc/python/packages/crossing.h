/* crossing.h -- objects that cross a door without a call, as door.c converts them. */
#pragma once
#include "python/base/types.h"

struct crossing {
    /* Return a new reference to what a package gets for an object of the program that is no
     * tuple, list or dict, or NULL with an exception set. */
    PyObject *(*give)(PyObject *x);

    /* Steal a reference to an item that the program's iterator gives, or a package's; NULL
     * passes through.  Return it as the code that is running should get it. */
    PyObject *(*give_item)(PyObject *x);
    PyObject *(*take_item)(PyObject *x);

    /* Steal a reference to what a generator is sent.  Return it as the generator gets it. */
    PyObject *(*send)(PyObject *x, bool is_of_package);
};

extern struct crossing crossing; /* set by door.c before an object crosses */
