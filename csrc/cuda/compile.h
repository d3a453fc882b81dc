#pragma once
/* compile.h -- compiles CUDA C++ to machine code of the GPU. */
#include <stddef.h>

/* Compiles a source for GPUs of an architecture, 10 * major + minor.  `out` is freed by
 * mx_free; it is a CUBIN, or PTX if NVRTC is older than the GPU.  Returns a status:
 * MX_ERROR_VALUE, with the compiler's message, if the source is invalid. */
int mx_compile_source(char **out, size_t *size, const char *source, int arch);

/* The text of language.cuh, which a source includes as <metal_stdlib>. */
extern const char mx_compile_language[];
