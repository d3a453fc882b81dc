/* NSNumber.m -- integers as objects. */
#import <Foundation/Foundation.h>

#include "../objc/runtime.h"

@implementation NSNumber {
    unsigned long _value;
}

+ (NSNumber *)numberWithUnsignedLong:(unsigned long)value
{
    NSNumber *number = [[[self alloc] init] autorelease];
    number->_value = value;
    return number;
}

+ (NSNumber *)numberWithUnsignedInteger:(NSUInteger)value
{
    return [self numberWithUnsignedLong:value];
}

+ (NSNumber *)numberWithInt:(int)value
{
    return [self numberWithUnsignedLong:(unsigned long)value];
}

- (unsigned long)unsignedLongValue
{
    return _value;
}

- (NSUInteger)unsignedIntegerValue
{
    return _value;
}

- (int)intValue
{
    return (int)_value;
}

- (BOOL)isEqual:(id)object
{
    return object && objc_is_kind_of(object, [NSNumber class]) &&
           ((NSNumber *)object)->_value == _value;
}

- (NSUInteger)hash
{
    return _value * 0x9e3779b97f4a7c15;
}

- (NSString *)description
{
    return [NSString stringWithFormat:@"%lu", _value];
}

@end
