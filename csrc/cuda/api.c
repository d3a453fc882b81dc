/* api.c -- finds and opens the libraries of the CUDA driver and of NVRTC. */
#include "cuda/api.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_DRIVER 12000
#define CURE         "pip install mxnp[cuda]"

struct mx_api mx_api;

static char folders[16384];
static char problem[512];
static bool is_open;
static int driver_version, nvrtc_version;

void mx_api_set_folders(const char *list) { snprintf(folders, sizeof folders, "%s", list); }

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
#undef ENTRY

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Looks functions up and returns the first name that is missing, or NULL. */
static const char *load(void *library, const struct entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, entries[i].name);
        if (!function)
            return entries[i].name;
        memcpy((char *)&mx_api + entries[i].offset, &function, sizeof function);
    }
    return NULL;
}

/* The tests name a library that stands in for both. */
static const char *stand_in(void)
{
    const char *path = getenv("MXNP_CUDA_STAND_IN");
    return path && *path ? path : NULL;
}

/* Whether there may be a GPU: its files, without opening anything. */
static bool has_gpu(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (visible && (!*visible || strncmp(visible, "-1", 2) == 0))
        return false;
    return stand_in() || access("/dev/nvidiactl", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
}

static void *open_driver(void)
{
    static const char *const names[] = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1",
                                        "/usr/local/nvidia/lib64/libcuda.so.1"};
    void *library = NULL;
    if (stand_in())
        return dlopen(stand_in(), RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < COUNT(names) && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Opens the first file that a pattern finds.  NVRTC opens its library of built-in functions by
 * its name alone, so that one is opened before. */
static void *open_matching(const char *folder, const char *pattern, int major)
{
    char path[4096];
    glob_t found;
    void *library = NULL;
    snprintf(path, sizeof path, "%s/%s/libnvrtc-builtins.so.%d*", folder, pattern, major);
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
    globfree(&found);
    snprintf(path, sizeof path, "%s/%s/libnvrtc.so.%d*", folder, pattern, major);
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc && !library; i++)
            library = dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_LOCAL);
    globfree(&found);
    return library;
}

/* Looks for NVRTC of one major version: in the packages, then in the system. */
static void *open_nvrtc(int major)
{
    char list[sizeof folders], name[32], *rest = NULL;
    void *library = NULL;
    snprintf(list, sizeof list, "%s", folders);
    for (char *folder = strtok_r(list, ":", &rest); folder && !library;
         folder = strtok_r(NULL, ":", &rest))
        library = open_matching(folder, "nvidia/*/lib", major);
    snprintf(name, sizeof name, "libnvrtc.so.%d", major);
    if (!library)
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = open_matching("/usr/local", "cuda*/lib64", major);
    return library;
}

/* A driver loads machine code of its own major version and of older ones. */
static bool find_nvrtc(void)
{
    int newest = driver_version / 1000, major = 0, minor = 0;
    void *library = stand_in() ? open_driver() : NULL;
    for (int version = newest; version >= 12 && !library; version--)
        library = open_nvrtc(version);
    const char *missing = library ? load(library, nvrtc_entries, COUNT(nvrtc_entries)) : NULL;
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
    const char *missing = load(library, driver_entries, COUNT(driver_entries));
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
