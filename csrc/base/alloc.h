#pragma once
/* alloc.h -- every byte the core asks of the system is asked for here, so that a test
 * can refuse the n-th request: mx_alloc_refuse of mxnp.h. */
#include "base/base.h"

void *mx_alloc(size_t nbytes);                 /* NULL; freed by mx_free */
void *mx_realloc(void *memory, size_t nbytes); /* NULL leaves memory as it was */
void mx_free(void *memory);

size_t mx_alloc_page_size(void);

/* Whole pages, zeroed by the system at their first touch; NULL.  nbytes is a multiple of the
 * page size.  Large mappings are laid out and marked for huge pages. */
void *mx_alloc_pages(size_t nbytes);
void mx_alloc_unmap(void *memory, size_t nbytes);
