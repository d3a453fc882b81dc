/* compile.c -- compiles CUDA C++ with NVRTC. */
#include "cuda/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/api.h"

const char mx_compile_language[] = {
#include "language.inc" /* made of language.cuh by a build step */
    , 0};

/* Returns the newest architecture that NVRTC knows and that is not newer than the GPU's. */
static int known_arch(int arch)
{
    int archs[64], n = 0, best = 0;
    if (mx_api.nvrtcGetNumSupportedArchs(&n) != 0 || n > 64 ||
        mx_api.nvrtcGetSupportedArchs(archs) != 0)
        return arch;
    for (int i = 0; i < n; i++)
        if (archs[i] <= arch && archs[i] > best)
            best = archs[i];
    return best ? best : arch;
}

static int fail_with_log(mx_cuda_program program)
{
    size_t size = 0;
    mx_api.nvrtcGetProgramLogSize(program, &size);
    char *log = mx_alloc(size + 1);
    if (!log)
        return mx_fail(MX_ERROR_MEMORY, "unable to read %zu bytes of messages", size);
    log[0] = log[size] = 0;
    mx_api.nvrtcGetProgramLog(program, log);
    mx_fail(MX_ERROR_VALUE, "the kernel does not compile: %s", log);
    mx_free(log);
    return MX_ERROR_VALUE;
}

static int read_code(char **out, size_t *size, mx_cuda_program program, bool is_cubin)
{
    int error = is_cubin ? mx_api.nvrtcGetCUBINSize(program, size)
                         : mx_api.nvrtcGetPTXSize(program, size);
    *out = error ? NULL : mx_alloc(*size + 1);
    if (!*out)
        return mx_fail(MX_ERROR_MEMORY, "unable to hold a compiled kernel");
    (*out)[*size] = 0;
    error = is_cubin ? mx_api.nvrtcGetCUBIN(program, *out) : mx_api.nvrtcGetPTX(program, *out);
    if (!error)
        return MX_OK;
    mx_free(*out);
    return mx_fail(MX_ERROR_DEVICE, "NVRTC has no code of the kernel: error %d", error);
}

int mx_compile_source(char **out, size_t *size, const char *source, int arch)
{
    static const char *const name = "metal_stdlib";
    const char *language = mx_compile_language;
    int known = known_arch(arch);
    char target[64];
    snprintf(target, sizeof target, "--gpu-architecture=%s_%d",
             known == arch ? "sm" : "compute", known);
    /* Results of + - * / and sqrt have the bits that IEEE 754 demands, as NumPy's do. */
    const char *const options[] = {target,         "-std=c++17",        "-default-device",
                                   "--fmad=false", "--prec-div=true",   "--prec-sqrt=true",
                                   "--ftz=false",  "--disable-warnings"};
    mx_cuda_program program;
    int error = mx_api.nvrtcCreateProgram(&program, source, "mxnp.metal", 1, &language, &name);
    if (error)
        return mx_fail(MX_ERROR_DEVICE, "NVRTC takes no program: error %d", error);
    error = mx_api.nvrtcCompileProgram(program, sizeof options / sizeof *options, options);
    int status = error ? fail_with_log(program) : read_code(out, size, program, known == arch);
    mx_api.nvrtcDestroyProgram(&program);
    return status;
}
