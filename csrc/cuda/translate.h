#pragma once
/* translate.h -- makes CUDA C++ of kernels in the Metal Shading Language. */
#include "gpu/text.h"

/* Numbers that a kernel gets after its buffers, if the text does not show how many it uses. */
#define MX_TRANSLATE_ARGS 440

/* Prints the source as CUDA C++, which needs the types and functions of language.cuh.  Returns
 * the number of 64-bit numbers that each kernel takes after its buffers.
 *
 * A kernel takes a pointer for each buffer, the numbers (mx_arguments), and the places
 * (mx_places).  If the source has something that CUDA lacks, the text has an #error there. */
int mx_translate_source(struct mx_text *out, const char *source);
