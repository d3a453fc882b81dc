#pragma once
/* alloc.h -- memory from the system.  The core requests all of its memory here, so a test can
 * refuse the n-th request: mx_alloc_refuse of mxnp.h. */
#include "base/base.h"

/* These behave as malloc, realloc and free. */
void *mx_alloc(size_t nbytes);
void *mx_realloc(void *memory, size_t nbytes);
void mx_free(void *memory);

/* Lets malloc keep up to this much freed memory at the end of its heap for later requests, and
 * half of it, but 32 MiB at most, in one block, if malloc is glibc's.  It is called once, or
 * never. */
void mx_alloc_keep(size_t nbytes);
void mx_alloc_trim(void); /* returns all that malloc keeps to the system, after mx_alloc_keep */

size_t mx_alloc_page_size(void);

/* Returns the bytes of memory that this process may use: the machine's, or its control groups'
 * if they are fewer. */
size_t mx_alloc_usable(void);

/* Maps whole pages, which the system zeroes at their first use, or returns NULL.  nbytes is a
 * multiple of the page size.  Large mappings are aligned and marked for huge pages. */
void *mx_alloc_pages(size_t nbytes);
void mx_alloc_unmap(void *memory, size_t nbytes);
