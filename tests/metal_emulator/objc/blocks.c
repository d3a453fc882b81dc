/* blocks.c -- blocks, and the __block variables that they share. */
#include "classes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The layouts and flags are clang's: "Block Implementation Specification". */
struct descriptor {
    unsigned long reserved, size;
    void (*copy)(void *to, void *from); /* these two only with BLOCK_HAS_COPY_DISPOSE */
    void (*dispose)(void *block);
};

struct block {
    void *isa;
    int flags;
    _Atomic int references; /* "reserved" to the compiler */
    void (*invoke)(void *, ...);
    struct descriptor *descriptor;
};

struct shared_variable {
    void *isa;
    struct shared_variable *forwarding;
    _Atomic int flags; /* with the number of references */
    int size;
    void (*keep)(struct shared_variable *to, struct shared_variable *from);
    void (*dispose)(struct shared_variable *);
};

enum {
    BLOCK_HAS_COPY_DISPOSE = 1 << 25,
    REFERENCES = 0xffff,
    ONE_REFERENCE = 2, /* the lowest bit is not part of the count */

    FIELD_IS_OBJECT = 3,
    FIELD_IS_BLOCK = 7,
    FIELD_IS_SHARED = 8,
    FIELD_KIND = 0x1f,
    FIELD_IS_WEAK = 16,
};

void *_NSConcreteStackBlock[32], *_NSConcreteGlobalBlock[32], *_NSConcreteMallocBlock[32];

bool objc_is_block(id object)
{
    void *isa = (void *)object->isa;
    return isa == _NSConcreteStackBlock || isa == _NSConcreteGlobalBlock ||
           isa == _NSConcreteMallocBlock;
}

void *_Block_copy(const void *argument)
{
    struct block *block = (struct block *)argument;
    if (!block || block->isa == _NSConcreteGlobalBlock)
        return block;
    if (block->isa == _NSConcreteMallocBlock) {
        atomic_fetch_add(&block->references, 1);
        return block;
    }
    struct block *copy = malloc(block->descriptor->size);
    memcpy(copy, block, block->descriptor->size);
    copy->isa = _NSConcreteMallocBlock;
    copy->references = 1;
    if (block->flags & BLOCK_HAS_COPY_DISPOSE)
        block->descriptor->copy(copy, block);
    return copy;
}

void _Block_release(const void *argument)
{
    struct block *block = (struct block *)argument;
    if (!block || block->isa != _NSConcreteMallocBlock)
        return;
    if (atomic_fetch_sub(&block->references, 1) > 1)
        return;
    if (block->flags & BLOCK_HAS_COPY_DISPOSE)
        block->descriptor->dispose(block);
    free(block);
}

id objc_retainBlock(id block) { return _Block_copy(block); }

/* -- Shared variables -------------------------------------------------------------- */

/* The first copy moves the variable to the heap; that one has two owners, the block that is
 * copied and the function that declared it. */
static struct shared_variable *share(struct shared_variable *variable)
{
    struct shared_variable *shared = variable->forwarding;
    if (shared->flags & REFERENCES) {
        atomic_fetch_add(&shared->flags, ONE_REFERENCE);
        return shared;
    }
    shared = malloc((size_t)variable->size);
    memcpy(shared, variable, (size_t)variable->size);
    shared->isa = NULL;
    shared->flags = (variable->flags & ~REFERENCES) | 2 * ONE_REFERENCE;
    shared->forwarding = variable->forwarding = shared;
    if (variable->flags & BLOCK_HAS_COPY_DISPOSE)
        variable->keep(shared, variable);
    return shared;
}

static void give_up_share(struct shared_variable *variable)
{
    variable = variable->forwarding;
    if (!(variable->flags & REFERENCES)) /* never moved */
        return;
    int before = atomic_fetch_sub(&variable->flags, ONE_REFERENCE);
    if ((before & REFERENCES) != ONE_REFERENCE)
        return;
    if (before & BLOCK_HAS_COPY_DISPOSE)
        variable->dispose(variable);
    free(variable);
}

/* -- What compiled code calls ------------------------------------------------------ */

void _Block_object_assign(void *field, const void *value, int flags)
{
    switch (flags & FIELD_KIND) {
    case FIELD_IS_OBJECT:
        *(id *)field = objc_retain((id)value);
        break;
    case FIELD_IS_BLOCK:
        *(void **)field = _Block_copy(value);
        break;
    case FIELD_IS_SHARED:
    case FIELD_IS_SHARED | FIELD_IS_WEAK:
        *(void **)field = share((struct shared_variable *)value);
        break;
    default:
        *(const void **)field = value;
    }
}

void _Block_object_dispose(const void *value, int flags)
{
    switch (flags & FIELD_KIND) {
    case FIELD_IS_OBJECT:
        objc_release((id)value);
        break;
    case FIELD_IS_BLOCK:
        _Block_release(value);
        break;
    case FIELD_IS_SHARED:
    case FIELD_IS_SHARED | FIELD_IS_WEAK:
        give_up_share((struct shared_variable *)value);
        break;
    }
}
