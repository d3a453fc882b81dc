/* NSError.m -- errors. */
#import <Foundation/Foundation.h>

NSErrorUserInfoKey const NSLocalizedDescriptionKey = @"NSLocalizedDescription";
NSErrorUserInfoKey const NSUnderlyingErrorKey = @"NSUnderlyingError";

@implementation NSError {
    NSString *_domain;
    NSInteger _code;
    NSDictionary *_userInfo;
}

+ (instancetype)errorWithDomain:(NSErrorDomain)domain
                           code:(NSInteger)code
                       userInfo:(NSDictionary *)dict
{
    NSError *error = [[[self alloc] init] autorelease];
    error->_domain = [domain copy];
    error->_code = code;
    error->_userInfo = dict ? [dict retain] : [[NSDictionary dictionary] retain];
    return error;
}

- (void)dealloc
{
    [_domain release];
    [_userInfo release];
    [super dealloc];
}

- (NSErrorDomain)domain
{
    return _domain;
}

- (NSInteger)code
{
    return _code;
}

- (NSDictionary *)userInfo
{
    return _userInfo;
}

- (NSString *)localizedDescription
{
    NSString *text = [_userInfo objectForKey:NSLocalizedDescriptionKey];
    if (text)
        return text;
    return [NSString stringWithFormat:@"The operation couldn't be completed. (%s error %ld.)",
                                      [_domain UTF8String], _code];
}

- (NSString *)description
{
    return [self localizedDescription];
}

@end
