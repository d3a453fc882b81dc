/* api.c -- finds and opens the driver of CUDA, NVRTC, cuBLAS, cuFFT and cuSOLVER. */
#include "cuda/api.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#define LEAST_DRIVER 12000
#define CURE         "pip install '.[cuda]'"

struct mx_api mx_api;

static char problem[512];
static bool is_open;
static int driver_version, nvrtc_version;

int mx_api_driver_version(void) { return driver_version; }

int mx_api_nvrtc_version(void) { return nvrtc_version; }

/* -- Opening ----------------------------------------------------------------------- */

struct entry {
    const char *name;
    size_t offset; /* of its pointer in mx_api */
};

#define ENTRY(result, name, parameters) {#name, offsetof(struct mx_api, name)},
static const struct entry driver_entries[] = {MX_CUDA_FUNCTIONS(ENTRY)};
static const struct entry nvrtc_entries[] = {MX_NVRTC_FUNCTIONS(ENTRY)};
static const struct entry blas_entries[] = {MX_CUBLAS_FUNCTIONS(ENTRY)};
static const struct entry fft_entries[] = {MX_CUFFT_FUNCTIONS(ENTRY)};
static const struct entry solver_entries[] = {MX_CUSOLVER_FUNCTIONS(ENTRY)};
#undef ENTRY

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Looks functions up and returns the first name that is missing, or NULL. */
static const char *cuda_api_load(void *library, const struct entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, entries[i].name);
        if (!function)
            return entries[i].name;
        memcpy((char *)&mx_api + entries[i].offset, &function, sizeof function);
    }
    return NULL;
}

/* The tests name a library that stands in for all of them. */
bool mx_api_is_stand_in(void) { return *mx_settings.device_library; }

/* Whether there may be a GPU: its files, without opening anything. */
static bool has_gpu(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && (!*visible || strncmp(visible, "-1", 2) == 0))
        return false;
    return mx_api_is_stand_in() || access("/dev/nvidiactl", F_OK) == 0 ||
           access("/dev/dxg", F_OK) == 0;
}

static void *open_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                        "/usr/local/nvidia/lib64/libcuda.so.1"};
    void *library = NULL;
    if (mx_api_is_stand_in())
        return dlopen(mx_settings.device_library, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Opens the first file that a pattern finds. */
static void *open_first(const char *pattern, int flags)
{
    glob_t found;
    void *library = NULL;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !library; i++)
            library = dlopen(found.gl_pathv[i], flags);
    globfree(&found);
    return library;
}

/* A library, and another one that it opens by its name alone, which is opened before. */
struct library {
    const char *name, *needed;
};

static void *open_matching(const char *folder, const char *pattern,
                           const struct library *library, int major)
{
    char path[4096];
    if (library->needed) {
        snprintf(path, sizeof path, "%s/%s/lib%s.so.%d*", folder, pattern, library->needed,
                 major);
        open_first(path, RTLD_NOW | RTLD_GLOBAL);
    }
    snprintf(path, sizeof path, "%s/%s/lib%s.so.%d*", folder, pattern, library->name, major);
    return open_first(path, RTLD_NOW | RTLD_LOCAL);
}

/* Looks for one major version of a library: in the packages, then in the system. */
static void *open_version(const struct library *library, int major)
{
    char list[16384], name[64], *rest = NULL;
    void *found = NULL;
    snprintf(list, sizeof list, "%s", mx_settings.package_folders);
    for (char *folder = strtok_r(list, ":", &rest); folder && !found;
         folder = strtok_r(NULL, ":", &rest))
        found = open_matching(folder, "nvidia/*/lib", library, major);
    snprintf(name, sizeof name, "lib%s.so.%d", library->name, major);
    if (!found)
        found = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!found)
        found = open_matching("/usr/local", "cuda*/lib64", library, major);
    return found;
}

static void *open_nvrtc(int major)
{
    return open_version(&(struct library){"nvrtc", "nvrtc-builtins"}, major);
}

/* A driver loads machine code of its own major version and of older ones. */
static bool find_nvrtc(void)
{
    int newest = driver_version / 1000, major = 0, minor = 0;
    void *library = mx_api_is_stand_in() ? open_driver() : NULL;
    for (int version = newest; version >= 12 && !library; version--)
        library = open_nvrtc(version);
    const char *missing =
        library ? cuda_api_load(library, nvrtc_entries, COUNT(nvrtc_entries)) : NULL;
    if (!library)
        snprintf(problem, sizeof problem,
                 "no NVRTC of CUDA 12 to %d, which compiles kernels, was found: " CURE
                 ", or install the CUDA toolkit",
                 newest);
    else if (missing)
        snprintf(problem, sizeof problem, "NVRTC lacks %s: " CURE, missing);
    if (!library || missing)
        return false;
    mx_api.nvrtcVersion(&major, &minor);
    nvrtc_version = 1000 * major + 10 * minor;
    return true;
}

static bool find_driver(void)
{
    void *library = open_driver();
    if (!library) {
        snprintf(problem, sizeof problem,
                 "libcuda.so.1 was not found: install NVIDIA's driver");
        return false;
    }
    const char *missing = cuda_api_load(library, driver_entries, COUNT(driver_entries));
    if (mx_api.cuDriverGetVersion)
        mx_api.cuDriverGetVersion(&driver_version);
    if (!missing && driver_version >= LEAST_DRIVER)
        return true;
    snprintf(problem, sizeof problem,
             "NVIDIA's driver is too old: it has CUDA %d.%d, and 12.0 is needed",
             driver_version / 1000, driver_version % 1000 / 10);
    return false;
}

static void open_all(void)
{
    if (!has_gpu())
        snprintf(problem, sizeof problem,
                 "this machine has no NVIDIA GPU, or no driver for it");
    else
        is_open = find_driver() && find_nvrtc();
}

bool mx_api_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_all);
    return is_open;
}

const char *mx_api_problem(void)
{
    mx_api_open();
    return problem;
}

/* -- Libraries that compute -------------------------------------------------------- */

/* Opens a library of the driver's major version or of an older one.  `behind` is how much lower
 * its own major version is. */
static bool open_library(const struct library *library, int behind, const struct entry *entries,
                         size_t n)
{
    if (!mx_api_open())
        return false;
    void *found = mx_api_is_stand_in() ? open_driver() : NULL;
    for (int version = driver_version / 1000; version >= 12 && !found; version--)
        found = open_version(library, version - behind);
    return found && !cuda_api_load(found, entries, n);
}

static bool has_blas, has_fft, has_solver;

static void open_blas(void)
{
    static const struct library library = {"cublas", "cublasLt"};
    has_blas = open_library(&library, 0, blas_entries, COUNT(blas_entries)) &&
               mx_api.cublasGetProperty(0, &(int){0}) == 0;
}

static void open_fft(void)
{
    static const struct library library = {"cufft", NULL};
    has_fft = open_library(&library, 1, fft_entries, COUNT(fft_entries)) &&
              mx_api.cufftGetProperty(0, &(int){0}) == 0;
}

/* It opens cuBLAS and others by their names, which are in the folders beside its own. */
static void open_solver(void)
{
    static const struct library library = {"cusolver", NULL};
    has_solver = open_library(&library, 1, solver_entries, COUNT(solver_entries)) &&
                 mx_api.cusolverGetProperty(0, &(int){0}) == 0;
}

bool mx_api_open_blas(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_blas);
    return has_blas;
}

bool mx_api_open_fft(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_fft);
    return has_fft;
}

bool mx_api_open_solver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_solver);
    return has_solver;
}

/* Appends the name of a library and its version, or that there is none. */
static void cuda_api_describe(char *text, size_t size, const char *name, bool is_there,
                              int (*get)(int property, int *value))
{
    int major = 0, minor = 0;
    size_t used = strlen(text);
    if (is_there) {
        get(0, &major);
        get(1, &minor);
        snprintf(text + used, size - used, "%s%s %d.%d", used ? ", " : "", name, major, minor);
    } else {
        snprintf(text + used, size - used, "%sno %s (" CURE ")", used ? ", " : "", name);
    }
}

const char *mx_api_libraries(void)
{
    static _Thread_local char text[256];
    text[0] = 0;
    if (!mx_api_open())
        return text;
    bool with_blas = mx_api_open_blas(), with_fft = mx_api_open_fft();
    bool with_solver = mx_api_open_solver();
    cuda_api_describe(text, sizeof text, "cuBLAS", with_blas, mx_api.cublasGetProperty);
    cuda_api_describe(text, sizeof text, "cuFFT", with_fft, mx_api.cufftGetProperty);
    cuda_api_describe(text, sizeof text, "cuSOLVER", with_solver, mx_api.cusolverGetProperty);
    return text;
}
