/* refusal.h -- exceptions with which Python or NumPy refuse arguments. */
#pragma once

/* Clear an exception that NumPy raises for arguments, because NumPy will raise it again.
 * Return 0, or -1 with an exception set that has another cause, such as a signal handler: that
 * one is raised only once. */
int refusal_drop(void);
