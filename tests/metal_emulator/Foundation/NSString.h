/* NSString.h -- strings, which are UTF-8. */
#pragma once

NS_ASSUME_NONNULL_BEGIN

typedef NSUInteger NSStringEncoding;
enum { NSASCIIStringEncoding = 1, NSUTF8StringEncoding = 4 };

@interface NSString : NSObject <NSCopying>
+ (nullable instancetype)stringWithUTF8String:(const char *)nullTerminatedCString;
+ (nullable instancetype)stringWithCString:(const char *)cString encoding:(NSStringEncoding)enc;
+ (instancetype)stringWithFormat:(NSString *)format, ... NS_FORMAT_FUNCTION(1, 2);
- (nullable instancetype)initWithUTF8String:(const char *)nullTerminatedCString;
- (nullable instancetype)initWithBytes:(const void *)bytes
                                length:(NSUInteger)len
                              encoding:(NSStringEncoding)encoding;
@property(nullable, readonly) const char *UTF8String NS_RETURNS_INNER_POINTER;
@property(readonly) NSUInteger length;
- (BOOL)isEqualToString:(NSString *)aString;
@end

/* What @"text" is; the compiler knows the layout. */
@interface NSConstantString : NSString {
  @public
    const char *_characters;
    unsigned _length;
}
@end

NS_ASSUME_NONNULL_END
