/* test_assert.c -- a violated invariant aborts, so that other tests and sanitizer builds show
 * it. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instructions.h"
#include "ir/instruction.h"

/* Returns whether a function aborts.  It runs in a child, so that the test continues. */
static bool aborts(void (*function)(void))
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        fclose(stderr); /* the message would look like a failure */
        function();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void hold(void) { MX_ASSERT(1 + 1 == 2); }

static void fail(void) { MX_ASSERT(1 + 1 == 3); }

static void prepare_without_entering(void)
{
    size_t n;
    mx_stream_prepare(&n);
}

static void leave_without_entering(void) { mx_stream_leave(); }

static struct mx_instruction copy_of(struct mx_buffer *to, struct mx_buffer *from)
{
    struct mx_instruction in = {.kind = MX_MAP, .nin = 1, .nout = 1, .ndim = 1, .shape = {4}};
    in.operands[0] = strided(from, 0, sizeof(double));
    in.operands[1] = strided(to, 0, sizeof(double));
    return in;
}

static void append_empty_axis(void)
{
    int64_t sequence;
    struct mx_buffer *buffer = mx_buffer_new(64);
    struct mx_instruction in = copy_of(buffer, buffer);
    in.shape[0] = 0;
    mx_stream_append(&in, &sequence);
}

/* The output begins one element after its input. */
static void plan_overlap(void)
{
    struct mx_buffer *buffer = mx_buffer_new(64);
    struct mx_instruction in = copy_of(buffer, buffer);
    struct mx_plan plan = {0};
    in.operands[1].at = sizeof(double);
    mx_fuse_plan(&plan, &in, 1, true);
}

static void release_twice(void)
{
    struct mx_buffer *buffer = mx_buffer_new(64);
    mx_buffer_retain(buffer);
    atomic_store(&buffer->count, 0);
    mx_buffer_release(buffer);
}

static void test_violated_invariants_abort(void)
{
    CHECK(!aborts(hold));
    CHECK(aborts(fail));
    CHECK(aborts(prepare_without_entering));
    CHECK(aborts(leave_without_entering));
    CHECK(aborts(append_empty_axis));
    CHECK(aborts(plan_overlap));
    CHECK(aborts(release_twice));
}

static void test_illegal_instructions_are_found(void)
{
    struct mx_buffer *from = mx_buffer_new(64), *to = mx_buffer_new(64);
    struct mx_instruction legal = copy_of(to, from), in = legal;
    CHECK(mx_instruction_is_legal(&legal));
    in.nin = MX_MAX_OPERANDS;
    CHECK(!mx_instruction_is_legal(&in));
    in = legal;
    in.ndim = MX_MAX_NDIM + 1;
    CHECK(!mx_instruction_is_legal(&in));
    in = legal;
    in.operands[1].is_value = true;
    CHECK(!mx_instruction_is_legal(&in));
    in = legal;
    in.operands[0].dtype = MX_DTYPE_COUNT;
    CHECK(!mx_instruction_is_legal(&in));
    in = legal;
    in.kind = MX_SCAN;
    in.axis = 1;
    CHECK(!mx_instruction_is_legal(&in));
    in.axis = 0;
    CHECK(mx_instruction_is_legal(&in));
    mx_buffer_release(from);
    mx_buffer_release(to);
}

int main(void)
{
    test_violated_invariants_abort();
    test_illegal_instructions_are_found();
    return 0;
}
