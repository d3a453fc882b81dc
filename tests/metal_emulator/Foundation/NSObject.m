/* NSObject.m -- see NSObject.h. */
#import <Foundation/Foundation.h>

#include "../objc/runtime.h"

@implementation NSObject

+ (instancetype)alloc
{
    return objc_new_object((Class)self);
}

+ (instancetype)new
{
    return [[self alloc] init];
}

+ (Class)class
{
    return (Class)self;
}

- (instancetype)init
{
    return self;
}

- (void)dealloc
{
    objc_dispose_object(self);
}

/* Those of our classes that can be copied are immutable. */
- (id)copy
{
    return [self retain];
}

- (instancetype)retain
{
    return objc_retain(self);
}

- (oneway void)release
{
    objc_release(self);
}

- (instancetype)autorelease
{
    return objc_autorelease(self);
}

- (NSUInteger)retainCount
{
    return (NSUInteger)objc_reference_count(self);
}

- (Class)class
{
    return isa;
}

- (BOOL)isKindOfClass:(Class)aClass
{
    return objc_is_kind_of(self, aClass);
}

- (BOOL)respondsToSelector:(SEL)aSelector
{
    return objc_responds(self, aSelector);
}

- (BOOL)isEqual:(id)object
{
    return self == object;
}

- (NSUInteger)hash
{
    return (NSUInteger)self / 16;
}

- (NSString *)description
{
    return [NSString stringWithFormat:@"<%s: %p>", objc_class_name(self), (void *)self];
}

@end
