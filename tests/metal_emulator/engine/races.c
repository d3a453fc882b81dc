/* races.c -- reports races: two GPU threads use a byte without a barrier between, and one
 * writes.
 *
 * A table has the last user of each address.  It is small and drops entries that do not fit, so
 * a race may be missed, but each reported one is real.
 */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define TABLE_BITS 21
#define TABLE_SIZE ((size_t)1 << TABLE_BITS)
#define PROBES     8

/* The thread is its index in the grid; two groups have no barrier in common. */
struct use {
    uint64_t thread, group;
    uint32_t barriers, simdgroup_barriers;
    bool is_any, is_atomic;
    bool is_in_threadgroup; /* in memory that another group, later, has for itself */
};

struct byte {
    const uint8_t *address;
    uint64_t dispatch;
    struct use read, write;
};

static struct byte *table;
static uint64_t dispatch_number;

void races_begin_dispatch(void)
{
    dispatch_number++;
    if (table)
        return;
    table = mmap(NULL, TABLE_SIZE * sizeof *table, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED) {
        perror("Metal emulator: no memory for the race detector");
        abort();
    }
}

static struct byte *find(const uint8_t *address)
{
    size_t hash = (uintptr_t)address * 0x9e3779b97f4a7c15 >> (64 - TABLE_BITS);
    struct byte *byte = &table[hash];
    for (size_t i = 0; i < PROBES; i++) {
        struct byte *probed = &table[(hash + i) % TABLE_SIZE];
        if (probed->dispatch != dispatch_number) {
            byte = probed;
            break;
        }
        if (probed->address == address)
            return probed;
    }
    *byte = (struct byte){.address = address, .dispatch = dispatch_number};
    return byte;
}

/* Whether nothing orders the use before what the thread does now. */
static bool is_unordered(const struct use *use, const struct use *now)
{
    if (!use->is_any || use->thread == now->thread)
        return false;
    if (use->is_atomic && now->is_atomic)
        return false;
    if (use->group != now->group)
        return !now->is_in_threadgroup;
    bool is_same_simdgroup = use->thread / ENGINE_SIMD_WIDTH == now->thread / ENGINE_SIMD_WIDTH;
    if (is_same_simdgroup && use->simdgroup_barriers != now->simdgroup_barriers)
        return false;
    return use->barriers == now->barriers;
}

static void check_byte(struct worker *worker, const uint8_t *address, const struct use *now,
                       bool is_write)
{
    struct byte *byte = find(address);
    const char *text = "data race: %s of the byte at %p that another GPU thread %s, with no "
                       "barrier between";
    if (is_unordered(&byte->write, now))
        engine_fail(worker, ENGINE_INTERNAL, text, is_write ? "write" : "read",
                    (const void *)address, "wrote");
    if (is_write && is_unordered(&byte->read, now))
        engine_fail(worker, ENGINE_INTERNAL, text, "write", (const void *)address, "read");
    *(is_write ? &byte->write : &byte->read) = *now;
}

void races_check(struct worker *worker, const uint8_t *at, unsigned size, unsigned access)
{
    const struct gpu_thread *thread = current_thread(worker);
    struct use now = {
        .thread = worker->group_number * ENGINE_THREADS + thread->seen.index_in_threadgroup,
        .group = worker->group_number,
        .barriers = worker->barriers,
        .simdgroup_barriers = thread->simdgroup_barriers,
        .is_any = true,
        .is_atomic = access & ACCESS_IS_ATOMIC,
        .is_in_threadgroup = access & ACCESS_IN_THREADGROUP,
    };
    for (unsigned i = 0; i < size; i++)
        check_byte(worker, at + i, &now, access & ACCESS_WRITES);
}
