/* runtime.h -- an Objective-C runtime for tests, with the ABI of clang's -fobjc-runtime=objfw.
 *
 * In that ABI, code looks up an IMP and then calls it, so the runtime needs no assembler.  clang
 * supports ARC and weak references with it.  The runtime lacks exceptions, forwarding, +load and
 * +initialize.
 *
 * This header is for C and for Objective-C without ARC, where classes and objects are pointers.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef __OBJC__ /* there the compiler knows these three */
typedef struct objc_class *Class;
typedef struct objc_object {
    Class isa;
} *id;
typedef struct objc_selector {
    const char *name; /* one address for each name, once registered */
    const char *types;
} *SEL;
#endif
typedef void (*IMP)(void);

/* -- Objects ----------------------------------------------------------------------- */

id objc_new_object(Class class);     /* one reference, all else zero */
void objc_dispose_object(id object); /* what -[NSObject dealloc] ends in */
id objc_retain(id object);
void objc_release(id object);
id objc_autorelease(id object);
long objc_reference_count(id object);
bool objc_responds(id object, SEL selector);
bool objc_is_kind_of(id object, Class class);
const char *objc_class_name(id object);

/* Objects that are dead stay where they were, until DEAD_OBJECTS others have died. */
bool objc_is_dead(id object);
enum { DEAD_OBJECTS = 50000 };

/* The number of objects that are alive. */
long objc_live_objects(void);

/* -- Blocks ------------------------------------------------------------------------ */

void *_Block_copy(const void *block);
void _Block_release(const void *block);
