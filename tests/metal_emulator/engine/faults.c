/* faults.c -- turns faults of the processor in a kernel into failures of its dispatch. */
#include "worker.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

enum { SIGNAL_STACK_SIZE = 64 << 10 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* Who was there before us, by signal's number; and whether it was passed on to him. */
static struct sigaction former[NSIG];
static volatile sig_atomic_t has_passed_on[NSIG];

void engine_unblock_signals(sigset_t *blocked)
{
    for (int i = 0; i < SIGNALS; i++)
        sigdelset(blocked, signals[i]);
}

static bool is_in_guard(const struct worker *worker, const uint8_t *at)
{
    const uint8_t *stack = worker->ranges[RANGE_STACK].start;
    return stack && at < stack && at >= stack - STACK_GUARD;
}

static void fail_kernel(struct worker *worker, int number, void *at)
{
    if (number == SIGFPE)
        engine_fail(worker, ENGINE_INTERNAL, "integer division by zero, or its overflow");
    if (number == SIGILL)
        engine_fail(worker, ENGINE_INTERNAL, "the kernel comes to what cannot be");
    if (is_in_guard(worker, at))
        engine_fail(worker, ENGINE_PAGE_FAULT, "page fault: stack overflow of a GPU thread");
    if (memory_is_retired(at))
        engine_fail(worker, ENGINE_PAGE_FAULT,
                    "page fault at %p: memory of a deallocated MTLBuffer", at);
    engine_fail(worker, ENGINE_PAGE_FAULT, "page fault at %p", at);
}

/* For the one who was there before us: the instruction faults again, and then it is his. */
static void pass_on(int number, void *at)
{
    static const char text[] =
        "Metal emulator: the CPU uses memory of a deallocated MTLBuffer, or its guard page\n";
    if (number == SIGSEGV && memory_is_retired(at))
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
    if (has_passed_on[number]) /* and he handed it back */
        signal(number, SIG_DFL);
    else
        sigaction(number, &former[number], NULL);
    has_passed_on[number] = true;
}

static void on_fault(int number, siginfo_t *information, void *context)
{
    (void)context;
    struct worker *worker = engine_worker;
    if (worker && worker->is_in_kernel)
        fail_kernel(worker, number, information->si_addr);
    else
        pass_on(number, information->si_addr);
}

static void take_signal(int number)
{
    struct sigaction present;
    struct sigaction own = {.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigaction(number, NULL, &present);
    if ((present.sa_flags & SA_SIGINFO) && present.sa_sigaction == on_fault)
        return;
    own.sa_sigaction = on_fault;
    former[number] = present;
    sigaction(number, &own, NULL);
}

void engine_take_signals(void)
{
    for (int i = 0; i < SIGNALS; i++)
        take_signal(signals[i]);
}

/* The handler cannot run on a stack that has overflown. */
void faults_prepare_thread(void)
{
    stack_t stack = {.ss_size = SIGNAL_STACK_SIZE};
    stack.ss_sp = mmap(NULL, SIGNAL_STACK_SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED)
        sigaltstack(&stack, NULL);
}
