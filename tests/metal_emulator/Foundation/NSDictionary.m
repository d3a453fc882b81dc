/* NSDictionary.m -- dictionaries with open addressing; a removal moves later entries up. */
#import <Foundation/Foundation.h>

#include <stdlib.h>

struct item {
    id key, object;
};

@interface NSDictionary () {
  @protected
    struct item *_items;
    NSUInteger _count, _capacity; /* a power of two, at most half of it in use */
}
@end

@implementation NSDictionary

static NSUInteger find(struct item *items, NSUInteger capacity, id key)
{
    NSUInteger i = [key hash] & (capacity - 1);
    while (items[i].key && ![items[i].key isEqual:key])
        i = (i + 1) & (capacity - 1);
    return i;
}

+ (instancetype)dictionary
{
    return [[[self alloc] init] autorelease];
}

+ (instancetype)dictionaryWithObject:(id)object forKey:(id)key
{
    return [self dictionaryWithObjects:&object forKeys:&key count:1];
}

+ (instancetype)dictionaryWithObjects:(const id[])objects
                              forKeys:(const id[])keys
                                count:(NSUInteger)cnt
{
    NSDictionary *dictionary = [self dictionary];
    for (NSUInteger i = 0; i < cnt; i++)
        [dictionary hostSetObject:objects[i] forKey:keys[i]];
    return dictionary;
}

- (void)dealloc
{
    for (NSUInteger i = 0; i < _capacity; i++) {
        [_items[i].key release];
        [_items[i].object release];
    }
    free(_items);
    [super dealloc];
}

- (NSUInteger)count
{
    return _count;
}

- (NSArray *)allKeys
{
    NSMutableArray *keys = [NSMutableArray array];
    for (NSUInteger i = 0; i < _capacity; i++)
        if (_items[i].key)
            [keys addObject:_items[i].key];
    return keys;
}

- (id)objectForKey:(id)aKey
{
    return _count ? _items[find(_items, _capacity, aKey)].object : nil;
}

- (id)objectForKeyedSubscript:(id)key
{
    return [self objectForKey:key];
}

- (void)hostGrow
{
    NSUInteger capacity = _capacity ? 2 * _capacity : 16;
    struct item *items = calloc(capacity, sizeof *items);
    for (NSUInteger i = 0; i < _capacity; i++)
        if (_items[i].key)
            items[find(items, capacity, _items[i].key)] = _items[i];
    free(_items);
    _items = items;
    _capacity = capacity;
}

- (void)hostSetObject:(id)object forKey:(id)key
{
    if (2 * (_count + 1) > _capacity)
        [self hostGrow];
    struct item *item = &_items[find(_items, _capacity, key)];
    [object retain];
    if (item->key) {
        [item->object release];
    } else {
        item->key = [key copy];
        _count++;
    }
    item->object = object;
}

@end

@implementation NSMutableDictionary

- (void)setObject:(id)anObject forKey:(id)aKey
{
    [self hostSetObject:anObject forKey:aKey];
}

- (void)setObject:(id)obj forKeyedSubscript:(id)key
{
    if (obj)
        [self hostSetObject:obj forKey:key];
    else
        [self removeObjectForKey:key];
}

/* What follows the hole, up to the next, is placed again: it may have been pushed along. */
- (void)hostCloseHole:(NSUInteger)hole
{
    for (NSUInteger i = (hole + 1) & (_capacity - 1); _items[i].key;
         i = (i + 1) & (_capacity - 1)) {
        struct item item = _items[i];
        _items[i] = (struct item){nil, nil};
        _items[find(_items, _capacity, item.key)] = item;
    }
}

- (void)removeObjectForKey:(id)aKey
{
    if (!_count)
        return;
    NSUInteger i = find(_items, _capacity, aKey);
    struct item removed = _items[i];
    if (!removed.key)
        return;
    _items[i] = (struct item){nil, nil};
    _count--;
    [self hostCloseHole:i];
    [removed.key release];
    [removed.object release];
}

- (void)removeAllObjects
{
    for (NSUInteger i = 0; i < _capacity; i++) {
        struct item removed = _items[i];
        _items[i] = (struct item){nil, nil};
        [removed.key release];
        [removed.object release];
    }
    _count = 0;
}

@end
