/* test_coherence.c -- the contents of a buffer are current wherever they are used, on a device
 * whose memory the processor cannot read.  The device of this test runs each kernel when it is
 * encoded. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "instructions.h"
#include "memory/coherence.h"

enum { N = 1000, SIZE = N * sizeof(double) };

/* -- The device -------------------------------------------------------------------- */

#define STALE 0xdb /* bytes of memory that nobody may read */

static struct {
    size_t left; /* bytes that can be allocated */
    size_t in_use;
    long fail_after; /* calls that work before one fails; less than 0: all work */
    bool is_lost;    /* all calls fail from that one on, otherwise that one alone */
    long calls;
    int copies_in, copies_out, joins;
} device;

struct piece {
    size_t size;
    char data[];
};

/* Addresses of the device are invalid on the processor. */
#define HIDDEN ((uintptr_t)1 << 62)

static char *reveal(const void *memory) { return (char *)((uintptr_t)memory ^ HIDDEN); }

static bool fails(void)
{
    device.calls++;
    if (device.fail_after < 0)
        return false;
    if (device.fail_after > 0) {
        device.fail_after--;
        return false;
    }
    if (!device.is_lost)
        device.fail_after = -1;
    return true;
}

static int allocate(void **out, size_t nbytes)
{
    if (fails())
        return mx_fail(MX_ERROR_DEVICE, "the device is lost");
    if (nbytes > device.left)
        return mx_fail(MX_ERROR_MEMORY, "the device is full");
    struct piece *piece = malloc(sizeof *piece + nbytes);
    CHECK(piece);
    piece->size = nbytes;
    memset(piece->data, STALE, nbytes);
    device.left -= nbytes;
    device.in_use += nbytes;
    *out = (void *)((uintptr_t)piece->data ^ HIDDEN);
    return MX_OK;
}

static void release_memory(void *memory)
{
    struct piece *piece =
        (struct piece *)(void *)(reveal(memory) - offsetof(struct piece, data));
    device.left += piece->size;
    device.in_use -= piece->size;
    memset(piece->data, STALE, piece->size);
    free(piece);
}

static int copy_in(void *memory, const void *host, size_t nbytes)
{
    if (fails())
        return mx_fail(MX_ERROR_DEVICE, "the device is lost");
    memcpy(reveal(memory), host, nbytes);
    device.copies_in++;
    return MX_OK;
}

static int copy_out(void *host, const void *memory, size_t nbytes)
{
    if (fails())
        return mx_fail(MX_ERROR_DEVICE, "the device is lost");
    memcpy(host, reveal(memory), nbytes);
    device.copies_out++;
    return MX_OK;
}

static int clear(void *memory, size_t nbytes)
{
    if (fails())
        return mx_fail(MX_ERROR_DEVICE, "the device is lost");
    memset(reveal(memory), 0, nbytes);
    return MX_OK;
}

static int join(void)
{
    if (fails())
        return mx_fail(MX_ERROR_DEVICE, "the device is lost");
    device.joins++;
    return MX_OK;
}

static const struct mx_device_memory functions = {allocate, release_memory, copy_in,
                                                  copy_out, clear,          join};

static void begin(size_t size)
{
    mx_coherence_trim();
    CHECK(mx_coherence_count() == 0 && device.in_use == 0);
    memset(&device, 0, sizeof device);
    device.left = size;
    device.fail_after = -1;
}

/* -- Uses of buffers --------------------------------------------------------------- */

/* Runs a kernel that adds 1 to each number of a buffer, or sets them all. */
static int run_kernel(struct mx_buffer *buffer, bool adds, double x)
{
    void *memory;
    mx_coherence_begin_kernel();
    int status = mx_coherence_bind(buffer, adds, &memory);
    if (status != MX_OK)
        return status;
    double *data = (double *)(void *)reveal(memory);
    for (int i = 0; i < N; i++)
        data[i] = adds ? data[i] + x : x;
    mx_coherence_note_written(buffer);
    if (mx_buffer_is_allocated(buffer))
        memset(buffer->data, STALE, SIZE);
    return MX_OK;
}

/* Returns the number that all elements have, after a read or a write on the processor. */
static double look(struct mx_buffer *buffer, bool writes)
{
    char *data;
    CHECK((writes ? mx_coherence_write(buffer, true, &data)
                  : mx_coherence_read(buffer, &data)) == MX_OK);
    const double *numbers = (const double *)(const void *)data;
    for (int i = 1; i < N; i++)
        CHECK(numbers[i] == numbers[0]);
    return numbers[0];
}

static void set(struct mx_buffer *buffer, double x)
{
    char *data;
    CHECK(mx_coherence_write(buffer, false, &data) == MX_OK);
    for (int i = 0; i < N; i++)
        ((double *)(void *)data)[i] = x;
}

static struct mx_buffer *new_set(double x)
{
    struct mx_buffer *buffer = mx_buffer_new(SIZE);
    CHECK(buffer);
    set(buffer, x);
    return buffer;
}

/* -- Tests ------------------------------------------------------------------------- */

/* Contents are copied once for each change of place, and never in between. */
static void test_copies(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *buffer = new_set(1.0);
    for (int i = 0; i < 10; i++)
        CHECK(run_kernel(buffer, true, 1.0) == MX_OK);
    CHECK(device.copies_in == 1 && device.copies_out == 0);
    CHECK(mx_coherence_place(buffer) == MX_AWAY);
    for (int i = 0; i < 3; i++)
        CHECK(look(buffer, false) == 11.0);
    CHECK(device.copies_in == 1 && device.copies_out == 1);
    CHECK(mx_coherence_place(buffer) == MX_ON_BOTH && mx_coherence_count() == 1);
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK && look(buffer, true) == 12.0);
    CHECK(device.copies_in == 1 && device.copies_out == 2);
    CHECK(mx_coherence_place(buffer) == MX_HERE && mx_coherence_count() == 0);
    set(buffer, 20.0);
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK && look(buffer, false) == 21.0);
    CHECK(device.copies_in == 2 && device.copies_out == 3);
    set(buffer, 30.0);
    CHECK(run_kernel(buffer, false, 5.0) == MX_OK && look(buffer, false) == 5.0);
    CHECK(device.copies_in == 2 && device.copies_out == 4);
    CHECK(run_kernel(buffer, false, 6.0) == MX_OK);
    set(buffer, 7.0); /* what the device has is not needed */
    CHECK(device.copies_out == 4 && look(buffer, false) == 7.0);
    mx_buffer_release(buffer);
}

/* A buffer that only kernels use has no memory on the processor. */
static void test_stays_on_the_device(void)
{
    begin(SIZE_MAX);
    size_t before = memory_info().in_use;
    struct mx_buffer *buffer = mx_buffer_new(SIZE);
    CHECK(run_kernel(buffer, false, 1.0) == MX_OK && run_kernel(buffer, true, 1.0) == MX_OK);
    CHECK(!mx_buffer_is_allocated(buffer) && memory_info().in_use == before);
    mx_buffer_release(buffer);
    buffer = mx_buffer_new(SIZE);
    CHECK(mx_coherence_clear(buffer) == MX_OK && run_kernel(buffer, true, 3.0) == MX_OK);
    CHECK(device.copies_in + device.copies_out == 0 && look(buffer, false) == 3.0);
    mx_buffer_release(buffer);
    CHECK(mx_coherence_count() == 0);
}

/* Memory that nothing has written is not copied, until the processor writes it. */
static void test_blank_memory(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *buffer = mx_buffer_new_allocated(SIZE);
    buffer->is_unwritten = true;
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK && device.copies_in == 0);
    CHECK(!buffer->is_unwritten && run_kernel(buffer, false, 4.0) == MX_OK);
    CHECK(look(buffer, false) == 4.0);
    mx_buffer_release(buffer);
    buffer = mx_buffer_new_allocated(SIZE);
    buffer->is_unwritten = true;
    set(buffer, 2.0);
    CHECK(!buffer->is_unwritten && run_kernel(buffer, true, 1.0) == MX_OK);
    CHECK(device.copies_in == 1 && look(buffer, false) == 3.0);
    mx_buffer_release(buffer);
}

static void test_copy_of_other_memory(void)
{
    begin(SIZE_MAX);
    double numbers[N];
    for (int i = 0; i < N; i++)
        numbers[i] = 4.0;
    struct mx_buffer *buffer = mx_coherence_new_copy((const char *)numbers, SIZE, 0);
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK && device.copies_in == 1);
    CHECK(look(buffer, false) == 5.0);
    mx_buffer_release(buffer);

    /* Bytes before the copy are not written. */
    char *data;
    buffer = mx_coherence_new_copy((const char *)numbers, 8, 16);
    CHECK(buffer && buffer->nbytes == 24 && mx_coherence_read(buffer, &data) == MX_OK);
    CHECK((unsigned char)data[15] == STALE && memcmp(data + 16, numbers, 8) == 0);
    mx_buffer_release(buffer);
    device.fail_after = 0;
    CHECK(!mx_coherence_new_copy((const char *)numbers, SIZE, 0));
    CHECK(mx_coherence_count() == 0);
}

/* Some bytes are read where they are current, and nothing moves. */
static void test_peek(void)
{
    begin(SIZE_MAX);
    double first;
    struct mx_gpu_counts counts = {.bytes_out = 0};
    struct mx_buffer *buffer = new_set(1.0);
    CHECK(mx_coherence_peek(buffer, &first, sizeof first) == MX_OK && first == 1.0);
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK);
    CHECK(mx_coherence_peek(buffer, &first, sizeof first) == MX_OK && first == 2.0);
    CHECK(mx_coherence_place(buffer) == MX_AWAY && device.copies_out == 1);
    CHECK(look(buffer, false) == 2.0);
    CHECK(mx_coherence_peek(buffer, &first, sizeof first) == MX_OK && first == 2.0);
    CHECK(device.copies_out == 2);
    mx_coherence_add_counts(&counts);
    int64_t before = counts.bytes_out;
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK);
    CHECK(mx_coherence_peek(buffer, &first, sizeof first) == MX_OK);
    counts.bytes_out = 0;
    mx_coherence_add_counts(&counts);
    CHECK(counts.bytes_out == before + 8);
    mx_buffer_release(buffer);
}

/* Memory of freed buffers is reused, and returned when the device needs it. */
static void test_cache(void)
{
    begin(4 * mx_pool_data_size(SIZE));
    for (int i = 0; i < 100; i++) {
        struct mx_buffer *buffer = new_set(i);
        CHECK(run_kernel(buffer, true, 1.0) == MX_OK && look(buffer, false) == i + 1.0);
        mx_buffer_release(buffer);
    }
    CHECK(device.calls == 1 + 200);
    struct mx_buffer *large = mx_buffer_new(4 * SIZE);
    CHECK(mx_coherence_clear(large) == MX_OK);
    CHECK(device.in_use == mx_pool_data_size(4 * SIZE));
    mx_buffer_release(large);
}

/* When the device is full, the buffers that were not used for the longest time leave it. */
static void test_eviction(void)
{
    enum { COUNT = 6, ROOM = 3 };
    struct mx_buffer *buffers[COUNT];
    begin(ROOM * mx_pool_data_size(SIZE));
    for (int i = 0; i < COUNT; i++)
        CHECK(run_kernel(buffers[i] = new_set(i), true, 0.5) == MX_OK);
    for (int i = 0; i < COUNT; i++)
        CHECK(mx_coherence_place(buffers[i]) == (i < COUNT - ROOM ? MX_HERE : MX_AWAY));
    CHECK(device.copies_out == COUNT - ROOM);
    CHECK(run_kernel(buffers[3], true, 0.5) == MX_OK); /* now 4 is the oldest */
    CHECK(run_kernel(buffers[0], true, 0.5) == MX_OK);
    CHECK(mx_coherence_place(buffers[4]) == MX_HERE);
    for (int i = 0; i < COUNT; i++)
        CHECK(look(buffers[i], false) == i + (i == 0 || i == 3 ? 1.0 : 0.5));

    /* Those of one kernel stay, and a kernel that needs too much is refused. */
    void *memory;
    mx_coherence_begin_kernel();
    for (int i = 0; i < ROOM; i++)
        CHECK(mx_coherence_bind(buffers[i], true, &memory) == MX_OK);
    CHECK(mx_coherence_bind(buffers[ROOM], true, &memory) == MX_ERROR_MEMORY);
    for (int i = 0; i < ROOM; i++)
        CHECK(mx_coherence_place(buffers[i]) == MX_ON_BOTH);
    for (int i = 0; i < COUNT; i++)
        mx_buffer_release(buffers[i]);

    /* If the processor is full too, the buffers stay where they are. */
    begin(mx_pool_data_size(100 * SIZE));
    struct mx_buffer *large = mx_buffer_new(100 * SIZE);
    CHECK(mx_coherence_clear(large) == MX_OK);
    mx_alloc_refuse(0, 100);
    struct mx_buffer *other = mx_buffer_new(SIZE);
    mx_alloc_refuse(0, 0);
    other = other ? other : mx_buffer_new(SIZE);
    mx_pool_trim(0);
    mx_alloc_refuse(0, 100);
    CHECK(run_kernel(other, false, 1.0) == MX_ERROR_MEMORY);
    mx_alloc_refuse(0, 0);
    CHECK(mx_coherence_place(large) == MX_AWAY);
    CHECK(run_kernel(other, false, 1.0) == MX_OK && mx_coherence_place(large) == MX_HERE);
    mx_buffer_release(large);
    mx_buffer_release(other);
}

/* What only the processor has moves when it was used often. */
static void test_worth(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *here = new_set(1.0), *other = mx_buffer_new(SIZE), *away = new_set(2.0);
    CHECK(run_kernel(away, false, 1.0) == MX_OK && mx_coherence_is_near(away, 0));
    CHECK(mx_coherence_is_worth(5, 2) && !mx_coherence_is_worth(5, 3));
    CHECK(mx_coherence_is_worth(0, 0));
    CHECK(!mx_coherence_is_near(here, SIZE) && !mx_coherence_is_near(here, SIZE));
    CHECK(mx_coherence_is_near(here, SIZE / 2));
    CHECK(!mx_coherence_is_near(other, 2 * SIZE) && mx_coherence_is_near(other, INT64_MAX));
    CHECK(!mx_coherence_lacks(other));
    mx_coherence_expect(other, true);
    CHECK(mx_coherence_lacks(other));
    CHECK(run_kernel(other, false, 1.0) == MX_OK && mx_coherence_lacks(other));
    CHECK(mx_coherence_is_near(other, 0));
    CHECK(look(other, false) == 1.0 && !mx_coherence_lacks(other)); /* on both */
    CHECK(mx_coherence_is_near(other, 0));
    mx_buffer_release(here);
    mx_buffer_release(other);
    mx_buffer_release(away);
}

/* Random uses of some buffers on a small device, with one number for each buffer as the
 * expected contents. */
static void test_random_uses(void)
{
    enum { COUNT = 8 };
    struct mx_buffer *buffers[COUNT] = {NULL};
    double expected[COUNT];
    uint64_t chance = 1;
    begin(3 * mx_pool_data_size(SIZE));
    for (int round = 0; round < 20000; round++) {
        int i = below(&chance, COUNT);
        if (!buffers[i])
            buffers[i] = new_set(expected[i] = round);
        switch (below(&chance, 6)) {
        case 0:
            CHECK(look(buffers[i], false) == expected[i]);
            break;
        case 1:
            CHECK(look(buffers[i], true) == expected[i]);
            set(buffers[i], expected[i] = -round);
            break;
        case 2:
            CHECK(run_kernel(buffers[i], false, expected[i] = 2.0 * round) == MX_OK);
            break;
        case 3:
            mx_buffer_release(buffers[i]);
            buffers[i] = NULL;
            break;
        default:
            CHECK(run_kernel(buffers[i], true, 1.0) == MX_OK);
            expected[i] += 1.0;
        }
    }
    for (int i = 0; i < COUNT; i++)
        if (buffers[i])
            mx_buffer_release(buffers[i]);
}

/* Whichever call fails, contents that the processor has are safe, and after a failure that
 * passes all contents are. */
static void test_failures(void)
{
    for (int lost = 0; lost < 2; lost++) {
        long n_calls = 1;
        for (long after = 0; after < n_calls; after++) {
            begin(2 * mx_pool_data_size(SIZE));
            struct mx_buffer *buffers[3];
            double expected[3];
            for (int i = 0; i < 3; i++)
                buffers[i] = new_set(expected[i] = i);
            device.fail_after = after;
            device.is_lost = lost;
            for (int i = 0; i < 3; i++) {
                int status = run_kernel(buffers[i], true, 1.0);
                CHECK(status == MX_OK || status == MX_ERROR_DEVICE);
                expected[i] += status == MX_OK;
                char *data;
                if (i == 1)
                    (void)!mx_coherence_read(buffers[0], &data);
            }
            n_calls = device.calls + 1;
            for (int i = 0; i < 3; i++) {
                char *data;
                enum mx_place place = mx_coherence_place(buffers[i]);
                int status = mx_coherence_read(buffers[i], &data);
                CHECK(status == MX_OK || place == MX_AWAY);
                if (!lost)
                    status = mx_coherence_read(buffers[i], &data);
                CHECK(status == MX_OK || lost);
                if (status == MX_OK)
                    CHECK(look(buffers[i], false) == expected[i]);
                else
                    CHECK(strcmp(mx_error_message(), "the device is lost") == 0);
                mx_buffer_release(buffers[i]);
            }
        }
    }
}

/* What kernels wrote is taken back while the processor has the contents of before. */
static void test_undo(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *both = new_set(1.0), *away = new_set(2.0), *unused = new_set(3.0);
    CHECK(run_kernel(away, true, 1.0) == MX_OK && run_kernel(unused, true, 1.0) == MX_OK);
    uint64_t last = mx_coherence_last_kernel();
    for (int i = 0; i < 2; i++) {
        void *memory;
        mx_coherence_begin_kernel();
        CHECK(mx_coherence_bind(both, true, &memory) == MX_OK);
        *(double *)(void *)reveal(memory) = 7.0;
        mx_coherence_note_written(both);
    }
    CHECK(run_kernel(away, true, 1.0) == MX_OK);
    CHECK(mx_coherence_undo(both, last) && mx_coherence_undo(both, last));
    CHECK(look(both, false) == 1.0 && mx_coherence_place(both) == MX_HERE);
    CHECK(mx_coherence_undo(unused, last) && look(unused, false) == 4.0);
    CHECK(!mx_coherence_undo(away, last) && look(away, false) == 4.0);
    CHECK(run_kernel(both, true, 1.0) == MX_OK && look(both, false) == 2.0);
    mx_buffer_release(both);
    mx_buffer_release(away);
    mx_buffer_release(unused);
}

/* -- The stream -------------------------------------------------------------------- */

static bool suits(const struct mx_instruction *in) { return in->device == MX_DEVICE; }

static int run(struct mx_group *group, struct mx_instruction *items, bool (*interrupted)(void))
{
    (void)interrupted;
    if (!group->is_for_device)
        return MX_DECLINED;
    mx_coherence_begin_kernel();
    for (int s = 0; s < group->n_steps; s++) {
        struct mx_instruction *in = &items[group->steps[s].instruction];
        char *args[MX_MAX_OPERANDS];
        intptr_t strides[MX_MAX_OPERANDS];
        for (int k = 0; k < mx_operand_count(in); k++) {
            struct mx_operand *operand = &in->operands[k];
            void *memory = NULL;
            if (operand->buffer && mx_coherence_bind(operand->buffer, true, &memory) != MX_OK)
                return MX_DECLINED;
            args[k] = operand->buffer ? reveal(memory) + operand->at : operand->value;
            strides[k] = operand->strides[0];
        }
        in->loop.function(args, &in->shape[0], strides, NULL);
        mx_coherence_note_written(in->operands[in->nin].buffer);
    }
    return MX_OK;
}

static int finish(void)
{
    return device.is_lost && device.fail_after == 0
               ? mx_fail(MX_ERROR_DEVICE, "the device is lost")
               : MX_OK;
}

static const struct mx_backend backend = {
    .name = "test", .suits = suits, .run = run, .finish = finish};

static void record_add(struct array *a, double x, struct array *out, enum mx_target target)
{
    struct mx_instruction in = binary("add", add, N, row(a), value(x), row(out));
    in.device = target;
    record(in);
}

/* Does what the bridge does when a flush has ended. */
static void collect(void)
{
    for (struct mx_buffer *buffer; (buffer = mx_coherence_take_changed());) {
        if (mx_buffer_is_allocated(buffer))
            CHECK(mx_buffer_publish(buffer) == MX_OK);
        mx_buffer_release(buffer);
    }
}

static double first_of(struct array *array)
{
    CHECK(mx_coherence_place(array->buffer) != MX_AWAY);
    CHECK(array->data == mx_buffer_address(array->buffer));
    return *(double *)(void *)array->data;
}

/* Groups of the device and of the processor use each other's results. */
static void test_stream(void)
{
    struct array a, b, c;
    begin(SIZE_MAX);
    mx_stream_set_fuse(false);
    array_init_doubles(&a, N, 1.0);
    array_init(&b, SIZE);
    array_init(&c, SIZE);
    char *token = b.data;
    record_add(&a, 1.0, &b, MX_DEVICE);
    CHECK(flush() == MX_OK);
    collect();
    CHECK(b.data == token && mx_coherence_place(b.buffer) == MX_AWAY);
    CHECK(mx_coherence_place(a.buffer) == MX_ON_BOTH && first_of(&a) == 1.0);
    record_add(&b, 1.0, &b, MX_DEVICE);
    record_add(&b, 1.0, &c, MX_PROCESSOR);
    record_add(&c, 1.0, &c, MX_DEVICE);
    CHECK(flush() == MX_OK);
    collect();
    CHECK(first_of(&b) == 3.0 && mx_coherence_place(c.buffer) == MX_AWAY);
    mx_stream_enter();
    CHECK(mx_coherence_fetch_all(true) == MX_OK);
    mx_stream_leave();
    collect();
    CHECK(first_of(&c) == 5.0 && mx_coherence_place(c.buffer) == MX_ON_BOTH);

    /* A group that the device declines gets its memory on the processor. */
    device.fail_after = 0;
    struct array d;
    array_init(&d, SIZE);
    record_add(&c, 1.0, &d, MX_DEVICE);
    CHECK(flush() == MX_OK);
    collect();
    CHECK(first_of(&d) == 6.0);

    /* Memory that other code uses is the processor's after each flush. */
    atomic_store(&a.buffer->is_shared, true);
    atomic_store(&b.buffer->is_shared, true);
    record_add(&a, 1.0, &a, MX_DEVICE);
    record_add(&b, 1.0, &b, MX_DEVICE);
    CHECK(flush() == MX_OK);
    collect();
    CHECK(mx_coherence_place(a.buffer) == MX_HERE && first_of(&a) == 2.0);
    CHECK(mx_coherence_place(b.buffer) == MX_HERE && first_of(&b) == 4.0);
    mx_stream_set_fuse(true);
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
    array_drop(&d);
}

static const char *device_message(void)
{
    mx_stream_enter();
    const char *message = mx_stream_device_message();
    mx_stream_leave();
    return message;
}

static void release_failed(const struct mx_instruction *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct mx_instruction copy = items[i];
        mx_stream_release(&copy);
    }
}

/* Another thread may collect the changes at any time, also before a kernel is encoded. */
static void test_changes_are_noted_after_them(void)
{
    struct array a;
    void *memory;
    begin(SIZE_MAX);
    array_init(&a, SIZE);
    mx_coherence_begin_kernel();
    CHECK(mx_coherence_bind(a.buffer, false, &memory) == MX_OK);
    collect();
    mx_coherence_note_written(a.buffer);
    struct mx_buffer *changed = mx_coherence_take_changed();
    CHECK(changed == a.buffer && mx_coherence_place(changed) == MX_AWAY);
    mx_buffer_release(changed);
    array_drop(&a);
}

/* What only a lost device has is lost; what needs it fails, and the rest runs. */
static void test_lost_device(void)
{
    struct array a, b, c, d;
    begin(SIZE_MAX);
    array_init_doubles(&a, N, 1.0);
    array_init(&b, SIZE);
    array_init(&c, SIZE);
    array_init(&d, SIZE);
    record_add(&a, 1.0, &b, MX_DEVICE);
    CHECK(flush() == MX_OK);
    device.is_lost = true;
    device.fail_after = 0;
    int64_t failed = mx_stream_recorded() + 1;
    record_add(&b, 1.0, &c, MX_PROCESSOR);
    record_add(&a, 2.0, &d, MX_PROCESSOR);
    CHECK(flush() == MX_INTERRUPTED); /* the rest is planned again */
    CHECK(flush_and(release_failed) == MX_OK);
    collect();
    CHECK(c.buffer->failed_by == failed && !d.buffer->failed_by && first_of(&d) == 3.0);
    CHECK(strcmp(device_message(), "the device is lost") == 0);
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
    array_drop(&d);
    device.fail_after = -1;
}

/* -- Threads and fork -------------------------------------------------------------- */

static void *release_all(void *argument)
{
    struct mx_buffer **buffers = argument;
    for (int i = 0; i < 500; i++)
        mx_buffer_release(buffers[i]);
    return NULL;
}

/* Other threads free buffers while the device evicts them. */
static void test_threads(void)
{
    static struct mx_buffer *buffers[1000];
    pthread_t thread;
    begin(5 * mx_pool_data_size(SIZE));
    for (int i = 0; i < 1000; i++)
        CHECK(run_kernel(buffers[i] = mx_buffer_new(SIZE), false, i) == MX_OK);
    CHECK(pthread_create(&thread, NULL, release_all, buffers) == 0);
    for (int i = 500; i < 1000; i++) {
        CHECK(run_kernel(buffers[i], true, 1.0) == MX_OK && look(buffers[i], false) == i + 1.0);
        mx_buffer_release(buffers[i]);
    }
    CHECK(pthread_join(thread, NULL) == 0);
}

/* A process may use the device if the one that forked had not used it. */
static void test_fork_before_use(void)
{
    begin(SIZE_MAX);
    pid_t child = fork();
    if (child == 0) {
        struct mx_buffer *buffer = new_set(1.0);
        CHECK(run_kernel(buffer, true, 1.0) == MX_OK && look(buffer, false) == 2.0);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

static void test_fork(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *both = new_set(1.0), *away = new_set(2.0);
    CHECK(run_kernel(both, true, 1.0) == MX_OK && run_kernel(away, true, 1.0) == MX_OK);
    CHECK(look(both, false) == 2.0);
    pid_t child = fork();
    if (child == 0) {
        char *data;
        long calls = device.calls;
        size_t in_use = device.in_use;
        CHECK(look(both, true) == 2.0);
        CHECK(mx_coherence_read(away, &data) == MX_ERROR_DEVICE);
        mx_buffer_release(both);
        mx_buffer_release(away);
        mx_coherence_trim();
        CHECK(device.calls == calls && mx_coherence_count() == 0);
        CHECK(device.in_use == in_use); /* it is the parent's */
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(look(away, false) == 3.0);
    mx_buffer_release(both);
    mx_buffer_release(away);
}

/* -- Loans ------------------------------------------------------------------------- */

/* Sets what other code finds at the address of a lent buffer. */
static void set_remote(const struct mx_buffer *buffer, double x)
{
    double *data = (double *)(void *)reveal(mx_coherence_address(buffer));
    for (int i = 0; i < N; i++)
        data[i] = x;
}

static double look_at_remote(const struct mx_buffer *buffer)
{
    const double *data = (const double *)(const void *)reveal(mx_coherence_address(buffer));
    return data[N - 1];
}

/* What the device and the processor write is seen by the other, at each read. */
static void test_loan(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *buffer = new_set(1.0);
    CHECK(mx_coherence_lend(buffer) == MX_OK && mx_coherence_lend(buffer) == MX_OK);
    CHECK(device.copies_in == 1 && look_at_remote(buffer) == 1.0);
    for (int i = 0; i < 3; i++) {
        set_remote(buffer, i);
        CHECK(mx_coherence_place(buffer) == MX_AWAY && look(buffer, false) == i);
    }
    CHECK(look(buffer, true) == 2.0 && mx_coherence_edited_count() == 1);
    set(buffer, 5.0);
    CHECK(mx_coherence_place(buffer) == MX_AWAY && look(buffer, false) == 5.0);
    int joins = device.joins;
    CHECK(mx_coherence_return() == MX_OK && device.joins == joins + 2);
    CHECK(look_at_remote(buffer) == 5.0 && mx_coherence_edited_count() == 0);
    set(buffer, 6.0); /* a kernel that comes next sees it */
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK && look_at_remote(buffer) == 7.0);
    set(buffer, 8.0);
    CHECK(mx_coherence_settle() == MX_OK && look_at_remote(buffer) == 8.0);
    CHECK(!mx_coherence_undo(buffer, 0));
    mx_coherence_end_loan(buffer);
    CHECK(mx_coherence_is_lent(buffer));
    set(buffer, 9.0);
    mx_coherence_end_loan(buffer); /* before what was written is on the device */
    CHECK(run_kernel(buffer, true, 1.0) == MX_OK && look_at_remote(buffer) == 10.0);
    CHECK(!mx_coherence_is_lent(buffer) && look(buffer, true) == 10.0);
    CHECK(mx_coherence_place(buffer) == MX_HERE && mx_coherence_count() == 0);
    mx_buffer_release(buffer);
}

/* A lent buffer stays on a full device, and lives as long as its users. */
static void test_loan_is_not_evicted(void)
{
    begin(4 * mx_pool_data_size(SIZE));
    struct mx_buffer *lent = new_set(1.0), *others[6];
    CHECK(mx_coherence_lend(lent) == MX_OK);
    mx_buffer_release(lent); /* by its array */
    for (int i = 0; i < 6; i++) {
        others[i] = new_set(i);
        CHECK(run_kernel(others[i], true, 1.0) == MX_OK);
    }
    CHECK(look_at_remote(lent) == 1.0 && look(others[0], false) == 1.0);
    for (int i = 0; i < 6; i++)
        mx_buffer_release(others[i]);
    CHECK(mx_coherence_fetch_all(false) == MX_OK && mx_coherence_return() == MX_OK);
    CHECK(mx_coherence_count() == 1);
    mx_coherence_end_loan(lent);
    CHECK(mx_coherence_count() == 0);
}

static void note_end(void *owner) { ++*(int *)owner; }

/* Borrowed memory is not cached, and its owner is told once. */
static void test_borrowed_memory(void)
{
    int ends = 0;
    void *memory;
    begin(SIZE_MAX);
    CHECK(allocate(&memory, SIZE) == MX_OK);
    struct mx_buffer *buffer = mx_coherence_borrow(memory, SIZE, note_end, &ends);
    CHECK(buffer && mx_coherence_address(buffer) == memory);
    set_remote(buffer, 3.0);
    CHECK(look(buffer, false) == 3.0 && run_kernel(buffer, true, 1.0) == MX_OK);
    CHECK(look_at_remote(buffer) == 4.0 && look(buffer, false) == 4.0);
    CHECK(mx_coherence_fetch_all(true) == MX_OK && ends == 0);
    mx_buffer_release(buffer);
    CHECK(ends == 1 && mx_coherence_count() == 0 && device.in_use == SIZE);
    release_memory(memory);
}

/* If a call fails, the processor's copy of what it wrote is kept. */
static void test_failures_of_loans(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *buffer = new_set(1.0);
    device.fail_after = 2; /* the copy has been made */
    CHECK(mx_coherence_lend(buffer) == MX_ERROR_DEVICE && !mx_coherence_is_lent(buffer));
    CHECK(look(buffer, false) == 1.0 && mx_coherence_lend(buffer) == MX_OK);
    CHECK(look(buffer, true) == 1.0);
    set(buffer, 2.0);
    device.fail_after = 1;
    CHECK(mx_coherence_return() == MX_ERROR_DEVICE && look(buffer, false) == 2.0);
    mx_coherence_end_loan(buffer);
    mx_buffer_release(buffer);
}

static void test_fork_during_a_loan(void)
{
    begin(SIZE_MAX);
    struct mx_buffer *buffer = new_set(1.0);
    CHECK(mx_coherence_lend(buffer) == MX_OK);
    set_remote(buffer, 2.0);
    CHECK(mx_coherence_fetch_all(true) == MX_OK);
    pid_t child = fork();
    if (child == 0) {
        CHECK(look(buffer, true) == 2.0);
        set(buffer, 3.0);
        CHECK(mx_coherence_return() == MX_OK && look(buffer, false) == 3.0);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    set_remote(buffer, 4.0);
    CHECK(look(buffer, false) == 4.0);
    mx_coherence_end_loan(buffer);
    mx_buffer_release(buffer);
}

int main(void)
{
    CHECK(mx_start() == MX_OK);
    mx_stream_set_backends(&backend, &mx_cpu_backend);
    CHECK(!mx_coherence_is_on());
    mx_coherence_use(&functions);
    test_fork_before_use();
    test_copies();
    test_stays_on_the_device();
    test_blank_memory();
    test_copy_of_other_memory();
    test_peek();
    test_cache();
    test_eviction();
    test_worth();
    test_random_uses();
    test_failures();
    test_undo();
    test_stream();
    test_changes_are_noted_after_them();
    test_lost_device();
    test_threads();
    test_fork();
    test_loan();
    test_loan_is_not_evicted();
    test_borrowed_memory();
    test_failures_of_loans();
    test_fork_during_a_loan();
    begin(0);
    CHECK(memory_info().in_use == 0);
    return 0;
}
