/* kept.h -- compiled kernels on disk.
 *
 * What is loaded is run.  So the folder must be this user's, and none of others' to write to;
 * a file ends with a hash of its key and its content, which shows what was cut short or
 * changed; and what is loaded is a copy of the very file that was looked at, whatever its name
 * means by then.  The hash is no secret: it does not keep out who can write to the folder.
 */
#pragma once
#include <stdbool.h>

#include "hash.h"

/* The folder, made if it is not there.  If others can write to it gives NULL and says so, which
 * the caller frees. */
const char *kept_folder(char **diagnostics);

/* Gives a file that was made here its name, for good. */
bool keep_file(const char *made, const char *path, hash128 key);

/* Opens a file that was kept, or gives -1 and errno: EBADMSG if it is not what was kept. */
int open_kept(const char *path, hash128 key);

/* As dlopen, of a copy of an open file; NULL if there is none. */
void *load_file(int file);

/* Says what errno says of something; the caller frees it. */
char *describe(const char *what);
