/* kept.h -- the cache of compiled kernels on disk.
 *
 * A loaded file is executed.  Therefore the folder must belong to this user, and others must not
 * be able to write to it.  A file ends with a hash of its key and its content, which detects
 * truncated and changed files.  The file that is loaded is a copy of the one that was checked, even
 * if its name now refers to another one.  The hash is not secret, so it does not protect from those
 * who can write to the folder.
 */
#pragma once
#include <stdbool.h>

#include "hash.h"

/* Returns the folder, which is made if necessary.  If others can write to it, returns NULL and sets
 * the diagnostics, which the caller frees. */
const char *kept_folder(char **diagnostics);

/* Completes a file with its hash and renames it to its final name. */
bool keep_file(const char *made, const char *path, hash128 key);

/* Opens a cached file.  Returns -1 and sets errno if it fails: EBADMSG if the file was changed. */
int open_kept(const char *path, hash128 key);

/* Loads a copy of an open file as dlopen does.  NULL: it failed. */
void *load_file(int file);

/* Returns a message with the meaning of errno.  The caller frees it. */
char *describe(const char *what);
