/* NSString.m -- see NSString.h. */
#import <Foundation/Foundation.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../objc/runtime.h"

/* Any string but a constant one. */
@interface HostString : NSString {
    char *_characters;
}
@end

@implementation NSString

+ (instancetype)alloc
{
    Class class = (Class)self;
    return objc_new_object(class == [NSString class] ? [HostString class] : class);
}

+ (instancetype)stringWithUTF8String:(const char *)nullTerminatedCString
{
    return [[[self alloc] initWithUTF8String:nullTerminatedCString] autorelease];
}

+ (instancetype)stringWithCString:(const char *)cString encoding:(NSStringEncoding)enc
{
    (void)enc;
    return [self stringWithUTF8String:cString];
}

/* %@ has to be a string's -UTF8String with %s here. */
+ (instancetype)stringWithFormat:(NSString *)format, ...
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, [format UTF8String], arguments) < 0)
        abort();
    va_end(arguments);
    NSString *string = [self stringWithUTF8String:text];
    free(text);
    return string;
}

- (instancetype)initWithUTF8String:(const char *)nullTerminatedCString
{
    return [self initWithBytes:nullTerminatedCString
                        length:strlen(nullTerminatedCString)
                      encoding:NSUTF8StringEncoding];
}

- (instancetype)initWithBytes:(const void *)bytes
                       length:(NSUInteger)len
                     encoding:(NSStringEncoding)encoding
{
    (void)bytes;
    (void)len;
    (void)encoding;
    return self; /* of a constant string, which nobody makes */
}

- (const char *)UTF8String
{
    return "";
}

/* In UTF-16 units, as everywhere: characters outside the first plane are two. */
- (NSUInteger)length
{
    NSUInteger length = 0;
    for (const char *at = [self UTF8String]; *at; at++) {
        length += (*at & 0xc0) != 0x80;
        length += (*at & 0xf8) == 0xf0;
    }
    return length;
}

- (BOOL)isEqualToString:(NSString *)aString
{
    return aString && !strcmp([self UTF8String], [aString UTF8String]);
}

- (BOOL)isEqual:(id)object
{
    return object && objc_is_kind_of(object, [NSString class]) &&
           [self isEqualToString:object];
}

- (NSUInteger)hash
{
    NSUInteger hash = 5381;
    for (const char *at = [self UTF8String]; *at; at++)
        hash = hash * 33 + (unsigned char)*at;
    return hash;
}

- (NSString *)description
{
    return self;
}

- (id)copyWithZone:(NSZone *)zone
{
    (void)zone;
    return [self retain];
}

@end

@implementation NSConstantString

- (const char *)UTF8String
{
    return _characters;
}

@end

@implementation HostString

- (instancetype)initWithBytes:(const void *)bytes
                       length:(NSUInteger)len
                     encoding:(NSStringEncoding)encoding
{
    (void)encoding;
    _characters = strndup(bytes, len);
    return self;
}

- (const char *)UTF8String
{
    return _characters;
}

- (void)dealloc
{
    free(_characters);
    [super dealloc];
}

@end
