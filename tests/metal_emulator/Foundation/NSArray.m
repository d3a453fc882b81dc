/* NSArray.m -- arrays, and sets, which are arrays without duplicates. */
#import <Foundation/Foundation.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objc/runtime.h"

@interface NSArray () {
  @protected
    id *_objects;
    NSUInteger _count, _capacity;
    unsigned long _changes;
}
@end

@implementation NSArray

+ (instancetype)array
{
    return [[[self alloc] init] autorelease];
}

+ (instancetype)arrayWithObjects:(const id[])objects count:(NSUInteger)cnt
{
    NSArray *array = [self array];
    array->_objects = calloc(cnt, sizeof(id));
    for (NSUInteger i = 0; i < cnt; i++)
        array->_objects[i] = [objects[i] retain];
    array->_count = array->_capacity = cnt;
    return array;
}

- (void)dealloc
{
    for (NSUInteger i = 0; i < _count; i++)
        [_objects[i] release];
    free(_objects);
    [super dealloc];
}

- (NSUInteger)count
{
    return _count;
}

- (id)objectAtIndex:(NSUInteger)index
{
    if (index >= _count) {
        fprintf(stderr, "objc: -[NSArray objectAtIndex:]: %lu of %lu\n", index, _count);
        abort();
    }
    return _objects[index];
}

- (id)objectAtIndexedSubscript:(NSUInteger)idx
{
    return [self objectAtIndex:idx];
}

- (id)firstObject
{
    return _count ? _objects[0] : nil;
}

- (id)lastObject
{
    return _count ? _objects[_count - 1] : nil;
}

- (BOOL)containsObject:(id)anObject
{
    for (NSUInteger i = 0; i < _count; i++)
        if (_objects[i] == anObject || [_objects[i] isEqual:anObject])
            return YES;
    return NO;
}

- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState *)state
                                  objects:(id[])buffer
                                    count:(NSUInteger)len
{
    (void)buffer;
    (void)len;
    if (state->state)
        return 0;
    state->state = 1;
    state->itemsPtr = _objects;
    state->mutationsPtr = &_changes;
    return _count;
}

@end

@implementation NSMutableArray

- (void)addObject:(id)anObject
{
    if (_count == _capacity) {
        _capacity = _capacity ? 2 * _capacity : 8;
        _objects = realloc(_objects, _capacity * sizeof(id));
    }
    _objects[_count++] = [anObject retain];
    _changes++;
}

- (void)removeObjectAtIndex:(NSUInteger)index
{
    id object = [self objectAtIndex:index];
    _count--;
    _changes++;
    memmove(&_objects[index], &_objects[index + 1], (_count - index) * sizeof(id));
    [object release];
}

- (void)removeLastObject
{
    [self removeObjectAtIndex:_count - 1];
}

- (void)removeAllObjects
{
    while (_count)
        [self removeLastObject];
}

@end

@implementation NSMutableSet {
    NSMutableArray *_members;
}

+ (instancetype)set
{
    return [[[self alloc] init] autorelease];
}

- (instancetype)init
{
    _members = [NSMutableArray new];
    return self;
}

- (void)dealloc
{
    [_members release];
    [super dealloc];
}

- (NSUInteger)count
{
    return [_members count];
}

- (BOOL)containsObject:(id)anObject
{
    return [_members containsObject:anObject];
}

- (void)addObject:(id)object
{
    if (![_members containsObject:object])
        [_members addObject:object];
}

- (void)removeObject:(id)object
{
    for (NSUInteger i = 0; i < [_members count]; i++)
        if ([[_members objectAtIndex:i] isEqual:object]) {
            [_members removeObjectAtIndex:i];
            return;
        }
}

- (void)removeAllObjects
{
    [_members removeAllObjects];
}

@end
