/* recursion.h -- a limit of operations that are inside each other.
 *
 * Objects in an array may be arrays, whose operators NumPy's loops call without Python code
 * between.  Python 3.12 and 3.13 have a limit of such calls that is beyond the end of the C
 * stack, so the bridge counts them itself. */
#pragma once

/* Return 0 before a call of NumPy, after which recursion_leave() must be called, or -1 with a
 * RecursionError set. */
int recursion_enter(void);
void recursion_leave(void);
