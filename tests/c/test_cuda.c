/* test_cuda.c -- the driver of CUDA, on the stand-in of tests/cuda_standin. */
#include "cuda/cuda.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "check.h"

#define N 1000

static const struct mx_driver *const driver = &mx_cuda_driver;

static const char *source =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
    "kernel void add(device const double *a [[buffer(0)]], device double *b [[buffer(1)]],\n"
    "                constant long *args [[buffer(2)]], uint3 at "
    "[[thread_position_in_grid]])\n"
    "{\n"
    "    b[at.x] = a[at.x] + b[at.x] * double(args[0]);\n"
    "}\n";

static void (*fail)(const char *name, long after, int error);
static long (*count)(const char *name);
static void (*limit)(long bytes);
static long (*contexts)(void);

static void open_stand_in(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    CHECK(library != NULL);
    *(void **)&fail = dlsym(library, "cuda_standin_fail");
    *(void **)&count = dlsym(library, "cuda_standin_count");
    *(void **)&limit = dlsym(library, "cuda_standin_limit");
    *(void **)&contexts = dlsym(library, "cuda_standin_contexts");
}

static int add(const void *kernel, void *a, void *b, int64_t factor)
{
    void *memories[] = {a, b};
    bool is_written[] = {false, true};
    size_t offsets[] = {0, 0};
    struct mx_dispatch dispatch = {
        .compiled = kernel,
        .memories = memories,
        .is_written = is_written,
        .offsets = offsets,
        .n_buffers = 2,
        .args = &factor,
        .args_size = sizeof factor,
        .kind = MX_THREADS,
        .grid = {N, 1, 1},
        .threads = {256, 1, 1},
    };
    return driver->encode(&dispatch);
}

static void test_sums(void)
{
    double a[N], b[N];
    void *kernel = NULL, *device_a, *device_b;
    for (int i = 0; i < N; i++) {
        a[i] = 0.1 * i;
        b[i] = i;
    }
    CHECK(driver->compile(&kernel, source, "add") == MX_OK);
    CHECK(driver->max_threads(kernel) >= 256);
    CHECK(driver->allocate(&device_a, sizeof a) == MX_OK);
    CHECK(driver->allocate(&device_b, sizeof b) == MX_OK);
    CHECK(driver->copy_in(device_a, a, sizeof a) == MX_OK);
    CHECK(driver->copy_in(device_b, b, sizeof b) == MX_OK);
    CHECK(add(kernel, device_a, device_b, 3) == MX_OK);
    CHECK(driver->wait() == MX_OK);
    CHECK(driver->copy_out(b, device_b, sizeof b) == MX_OK);
    for (int i = 0; i < N; i++)
        CHECK(b[i] == a[i] + 3.0 * i);
    CHECK(driver->clear(device_b, sizeof b) == MX_OK);
    CHECK(driver->copy_out(b, device_b, sizeof b) == MX_OK);
    CHECK(b[0] == 0 && b[N - 1] == 0);
    driver->release_memory(device_a);
    driver->release_memory(device_b);
    driver->release(kernel);
}

/* Copies from memory that the driver has locked run later than the call. */
static void test_many_small_copies(void)
{
    enum { COUNT = 40, SIZE = 64 << 10 };
    static char bytes[SIZE];
    void *pieces[COUNT];
    for (int i = 0; i < COUNT; i++) {
        CHECK(driver->allocate(&pieces[i], SIZE) == MX_OK);
        memset(bytes, i + 1, SIZE);
        CHECK(driver->copy_in(pieces[i], bytes, SIZE) == MX_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        CHECK(driver->copy_out(bytes, pieces[i], SIZE) == MX_OK);
        CHECK(bytes[0] == i + 1 && bytes[SIZE - 1] == i + 1);
        driver->release_memory(pieces[i]);
    }
    CHECK(contexts() == 0); /* those of other users of CUDA are current again */
}

static void test_invalid_texts_are_refused(void)
{
    void *kernel;
    CHECK(driver->compile(&kernel, "kernel void k(", "k") == MX_ERROR_VALUE);
    CHECK(strstr(mx_error_message(), "does not compile"));
    CHECK(strstr(mx_error_message(), "error:")); /* the compiler's message */
    CHECK(driver->compile(&kernel, source, "subtract") == MX_ERROR_VALUE);
    CHECK(strstr(mx_error_message(), "there is no kernel 'subtract'"));
}

static void test_kernels_are_kept_on_disk(void)
{
    void *first, *second;
    driver->clear_cache();
    CHECK(driver->compile(&first, source, "add") == MX_OK);
    long before = count("nvrtcCompileProgram");
    CHECK(driver->compile(&second, source, "add") == MX_OK);
    CHECK(count("nvrtcCompileProgram") == before);
    driver->clear_cache();
    driver->release(second);
    CHECK(driver->compile(&second, source, "add") == MX_OK);
    CHECK(count("nvrtcCompileProgram") == before + 1);
    driver->release(first);
    driver->release(second);
}

static void test_full_device(void)
{
    void *memory;
    limit(1 << 20);
    CHECK(driver->memory_left() == 1 << 20);
    CHECK(driver->allocate(&memory, 2 << 20) == MX_ERROR_MEMORY);
    CHECK(driver->allocate(&memory, 1 << 19) == MX_OK);
    CHECK(driver->memory_left() == 1 << 19);
    driver->release_memory(memory);
    CHECK(driver->memory_left() == 1 << 20);
    limit(-1);
}

static void test_lost_device(void)
{
    void *kernel, *a, *b;
    CHECK(driver->compile(&kernel, source, "add") == MX_OK);
    CHECK(driver->allocate(&a, 8) == MX_OK && driver->allocate(&b, 8) == MX_OK);
    add(kernel, a, b, 1); /* out of bounds */
    CHECK(driver->wait() == MX_ERROR_DEVICE);
    CHECK(strstr(mx_error_message(), "the CUDA device failed: an illegal memory access"));
    CHECK(!driver->is_usable());
    CHECK(driver->allocate(&a, 8) == MX_ERROR_DEVICE);
    CHECK(driver->wait() == MX_OK); /* the failure is reported once */
    driver->release_memory(b);
    driver->release(kernel);
}

int main(void)
{
    char folder[] = "/tmp/mxnp_cubins.XXXXXX";
    const char *path = getenv("MXNP_CUDA_STAND_IN");
    if (!path)
        return 77; /* meson: skipped */
    open_stand_in(path);
    mx_settings.device_library = path;
    mx_settings.device_cache = mkdtemp(folder);
    CHECK(driver->count() == 1);
    CHECK(count("cuInit") == 0); /* until it is needed */
    CHECK(driver->is_usable());
    test_sums();
    test_many_small_copies();
    test_invalid_texts_are_refused();
    test_kernels_are_kept_on_disk();
    test_full_device();
    test_lost_device();
    CHECK(contexts() == 0);
    return 0;
}
