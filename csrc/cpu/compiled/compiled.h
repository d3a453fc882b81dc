#pragma once
/* compiled.h -- kernels that a compiler makes of runs of calls while the program runs.
 *
 * The interpreter of blocks stores the result of each call, and the next call loads it.  A
 * compiled kernel computes a run of calls together, and keeps what only the run uses in
 * registers.  Its results have the same bits.
 *
 * The key of a program says everything on which the code depends: the operations, the dtypes,
 * and whether the elements of an operand are adjacent.  It contains no shapes and no addresses.
 * A key whose programs have worked enough is compiled by a thread that does nothing else. Until
 * the kernels exist, programs run as they do without a compiler.
 */
#include "base/base.h"

#define MX_MAX_KEY           2048 /* numbers */
#define MX_MAX_COMPILED_RUNS 40
#define MX_COMPILED_WORK     ((int64_t)1 << 27) /* after which a key is compiled */

/* Calls that one kernel computes. */
struct mx_compiled_run {
    int first, n_calls;
    void (*kernel)(char *const *data, const intptr_t *strides, intptr_t n);
};

/* Compiles the runs of a program, at most MX_MAX_COMPILED_RUNS.  Returns their number, -1 if
 * the compiler failed, or MX_NO_COMPILER. */
typedef int mx_compiler(const short *key, int n, struct mx_compiled_run *runs);
#define MX_COMPILER_FAILED (-1)
#define MX_NO_COMPILER     (-2) /* it is not installed: nothing is compiled from now on */

struct mx_compiled_key {
    int n;
    short numbers[MX_MAX_KEY];
};

/* The runs of a program, in the order of the calls. */
struct mx_compiled {
    int n_runs;
    struct mx_compiled_run runs[];
};

/* Returns the kernels for a key, or NULL if there are none yet.  The result is never freed.
 * Adds up the work of the programs with this key, in calls for each element, and requests its
 * compilation: they have then run for about 50 ms. */
const struct mx_compiled *mx_compiled_get(const struct mx_compiled_key *key, int64_t work);

bool mx_compiled_is_on(void);

/* Sets the compiler, or none, which forgets all keys.  If is_immediate, each key is compiled at
 * its first lookup, which waits. */
void mx_compiled_start(mx_compiler *compiler, bool is_immediate);

/* Ends the thread, after the kernels that it is compiling. */
void mx_compiled_stop(void);

/* Waits until nothing is being compiled, and keeps it so until mx_compiled_resume. */
void mx_compiled_pause(void);
void mx_compiled_resume(void);

/* Called around fork. */
void mx_compiled_before_fork(void);
void mx_compiled_after_fork(bool in_child);
