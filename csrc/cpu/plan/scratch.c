/* scratch.c -- assigns slots of scratch memory to temporaries and packed operands. */
#include "cpu/plan/scratch.h"

struct slots {
    size_t size; /* of all slots so far */
    struct {
        size_t offset, size;
        int itemsize; /* compiled runs rely on equal positions of element i */
    } unused[MX_MAX_STEPS * 2];
    int n_unused;
};

static size_t take_slot(struct slots *slots, size_t size, int itemsize)
{
    for (int i = slots->n_unused - 1; i >= 0; i--) {
        if (slots->unused[i].size != size || slots->unused[i].itemsize != itemsize)
            continue;
        size_t offset = slots->unused[i].offset;
        slots->unused[i] = slots->unused[--slots->n_unused];
        return offset;
    }
    size_t offset = slots->size;
    slots->size += size;
    return offset;
}

static void give_slot(struct slots *slots, size_t offset, size_t size, int itemsize)
{
    if (slots->n_unused < MX_MAX_STEPS * 2) {
        slots->unused[slots->n_unused].offset = offset;
        slots->unused[slots->n_unused].itemsize = itemsize;
        slots->unused[slots->n_unused++].size = size;
    }
}

/* One more cache line keeps the slots of different operands from mapping to the same lines of
 * the cache. */
size_t mx_scratch_slot_size(const struct mx_program *program, const struct mx_access *access)
{
    size_t n = (size_t)(program->length * program->inner);
    return (n * (size_t)access->itemsize + MX_CACHE_LINE - 1) / MX_CACHE_LINE * MX_CACHE_LINE +
           MX_CACHE_LINE;
}

static int last_use(const struct mx_program *program, int access)
{
    for (int c = program->n_calls - 1; c >= 0; c--) {
        const struct mx_instruction *in = program->calls[c].instruction;
        for (int k = 0; k < mx_operand_count(in); k++)
            if (program->calls[c].accesses[k] == access)
                return c;
    }
    return -1;
}

static bool is_first_use(const struct mx_program *program, int call, int access)
{
    for (int c = 0; c < call; c++)
        for (int k = 0; k < mx_operand_count(program->calls[c].instruction); k++)
            if (program->calls[c].accesses[k] == access)
                return false;
    return true;
}

/* A temporary reuses the slot of one that the same call uses for the last time, as if the loop
 * worked in place. */
void mx_scratch_plan(struct mx_program *program)
{
    struct slots slots = {0};
    for (int a = 0; a < program->n_accesses; a++) {
        struct mx_access *access = &program->accesses[a];
        if (access->kind == MX_PACKED)
            access->offset =
                take_slot(&slots, mx_scratch_slot_size(program, access), access->itemsize);
        if (access->kind != MX_DIRECT)
            access->stride = access->itemsize;
    }
    for (int c = 0; c < program->n_calls; c++) {
        const struct mx_instruction *in = program->calls[c].instruction;
        const int *accesses = program->calls[c].accesses;
        for (int pass = 0; pass < 2; pass++) {
            /* The slots of inputs of the same itemsize are free before the outputs take slots,
             * and the slots of all others only after that. */
            for (int k = 0; k < mx_operand_count(in); k++) {
                struct mx_access *access = &program->accesses[accesses[k]];
                bool is_seen = false;
                for (int j = 0; j < k; j++)
                    is_seen |= accesses[j] == accesses[k];
                bool in_place = k < in->nin && in->nout == 1 &&
                                access->itemsize == in->operands[in->nin].itemsize;
                if (access->kind == MX_SCRATCH && !is_seen && in_place == (pass == 0) &&
                    last_use(program, accesses[k]) == c)
                    give_slot(&slots, access->offset, mx_scratch_slot_size(program, access),
                              access->itemsize);
            }
            for (int k = in->nin; k < mx_operand_count(in) && pass == 0; k++) {
                struct mx_access *access = &program->accesses[accesses[k]];
                if (access->kind == MX_SCRATCH && is_first_use(program, c, accesses[k]))
                    access->offset = take_slot(&slots, mx_scratch_slot_size(program, access),
                                               access->itemsize);
            }
        }
    }
    program->scratch_size = slots.size;
    for (int a = 0; a < program->n_accesses; a++)
        MX_ASSERT(program->accesses[a].kind == MX_DIRECT ||
                  program->accesses[a].offset +
                          mx_scratch_slot_size(program, &program->accesses[a]) <=
                      slots.size);
}
