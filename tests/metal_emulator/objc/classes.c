/* classes.c -- classes, categories and selectors, as object files contain them. */
#include "classes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1 << 13, MAX_CLASSES = 1 << 10, MAX_UNRESOLVED = 256 };

struct category {
    const char *name, *class_name;
    struct method_list *instance_methods, *class_methods;
    void *protocols;
};

struct symbol_table {
    unsigned long selector_count;
    struct {
        const char *name, *types;
    } *selectors;
    uint16_t class_count, category_count;
    void *definitions[]; /* classes, categories, then a list of constant objects */
};

struct module {
    unsigned long version, size;
    const char *name;
    struct symbol_table *symbols;
};

struct constant_objects {
    const char *class_name;
    struct {
        Class isa;
    } *objects[];
};

pthread_mutex_t objc_lock = PTHREAD_MUTEX_INITIALIZER;

static const char *names[MAX_NAMES];
static Class classes[MAX_CLASSES];
static unsigned class_count;

/* Those whose superclass, or class, is not there yet. */
static Class unresolved_classes[MAX_UNRESOLVED];
static struct category *unresolved_categories[MAX_UNRESOLVED];

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "objc: too many %s\n", what);
    abort();
}

/* -- Selectors --------------------------------------------------------------------- */

static unsigned hash_of(const char *name)
{
    unsigned hash = 5381;
    while (*name)
        hash = hash * 33 + (unsigned char)*name++;
    return hash;
}

const char *objc_intern(const char *name)
{
    static unsigned count;
    unsigned i = hash_of(name) % MAX_NAMES;
    for (; names[i]; i = (i + 1) % MAX_NAMES)
        if (!strcmp(names[i], name))
            return names[i];
    if (++count > MAX_NAMES / 4 * 3)
        fail("selectors");
    return names[i] = name;
}

SEL sel_registerName(const char *name)
{
    SEL selector = calloc(1, sizeof *selector);
    pthread_mutex_lock(&objc_lock);
    selector->name = objc_intern(name);
    pthread_mutex_unlock(&objc_lock);
    return selector;
}

/* -- Classes ----------------------------------------------------------------------- */

Class objc_getClass(const char *name)
{
    for (unsigned i = 0; i < class_count; i++)
        if (!strcmp(classes[i]->name, name))
            return classes[i];
    return NULL;
}

static void intern_methods(struct method_list *list)
{
    for (; list; list = list->next)
        for (int i = 0; i < list->count; i++)
            list->methods[i].name = objc_intern(list->methods[i].name);
}

/* An instance's own ivars come after those of the superclass, whose size only now is known. */
static void place_ivars(Class class, Class superclass)
{
    long start = superclass ? superclass->size : 0;
    if (class->size > 0)
        return;
    class->size = start - class->size;
    for (int i = 0; class->ivars && i < class->ivars->count; i++) {
        class->ivars->ivars[i].offset += (int)start;
        if (class->ivar_offsets)
            *class->ivar_offsets[i] = class->ivars->ivars[i].offset;
    }
}

static bool resolve(Class class)
{
    Class superclass = NULL;
    if (class->superclass) {
        superclass = objc_getClass((const char *)class->superclass);
        if (!superclass)
            return false;
    }
    Class metaclass = class->isa;
    class->superclass = superclass;
    Class root = class;
    while (root->superclass)
        root = root->superclass;
    metaclass->isa = root->isa;
    metaclass->superclass = superclass ? superclass->isa : class;
    place_ivars(class, superclass);
    intern_methods(class->methods);
    intern_methods(metaclass->methods);
    if (class_count == MAX_CLASSES)
        fail("classes");
    classes[class_count++] = class;
    return true;
}

/* -- Categories -------------------------------------------------------------------- */

/* In front, as a category's method goes before the class's. */
static void add_methods(Class class, struct method_list *list)
{
    if (!list)
        return;
    intern_methods(list);
    struct method_list *last = list;
    while (last->next)
        last = last->next;
    last->next = class->methods;
    class->methods = list;
}

static bool attach(struct category *category)
{
    Class class = objc_getClass(category->class_name);
    if (!class)
        return false;
    add_methods(class, category->instance_methods);
    add_methods(class->isa, category->class_methods);
    return true;
}

/* -- Modules ----------------------------------------------------------------------- */

static void resolve_all(void)
{
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < MAX_UNRESOLVED; i++)
            if (unresolved_classes[i] && resolve(unresolved_classes[i])) {
                unresolved_classes[i] = NULL;
                again = true;
            }
    }
    for (int i = 0; i < MAX_UNRESOLVED; i++)
        if (unresolved_categories[i] && attach(unresolved_categories[i]))
            unresolved_categories[i] = NULL;
}

static void remember(void **unresolved, void *definition)
{
    for (int i = 0; i < MAX_UNRESOLVED; i++)
        if (!unresolved[i]) {
            unresolved[i] = definition;
            return;
        }
    fail("classes without a superclass");
}

static void give_class_to_constants(struct constant_objects **lists)
{
    for (; lists && *lists; lists++)
        for (int i = 0; (*lists)->objects[i]; i++)
            (*lists)->objects[i]->isa = &_OBJC_CLASS_NSConstantString;
}

/* Called by a constructor in every object file that has Objective-C in it. */
void __objc_exec_class(struct module *module)
{
    struct symbol_table *symbols = module->symbols;
    pthread_mutex_lock(&objc_lock);
    for (unsigned long i = 0; symbols->selectors && i < symbols->selector_count; i++)
        if (symbols->selectors[i].name)
            symbols->selectors[i].name = objc_intern(symbols->selectors[i].name);
    void **definition = symbols->definitions;
    for (int i = 0; i < symbols->class_count; i++)
        remember((void **)unresolved_classes, *definition++);
    for (int i = 0; i < symbols->category_count; i++)
        remember((void **)unresolved_categories, *definition++);
    give_class_to_constants(*definition);
    resolve_all();
    pthread_mutex_unlock(&objc_lock);
}
