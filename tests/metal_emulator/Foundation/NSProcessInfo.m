/* NSProcessInfo.m -- the version of macOS that the emulator stands for. */
#import <Foundation/Foundation.h>

#include <pthread.h>

#include "../runtime/settings.h"

@implementation NSProcessInfo

static NSProcessInfo *shared;

static void make_shared(void) { shared = [NSProcessInfo new]; }

+ (NSProcessInfo *)processInfo
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_shared);
    return shared;
}

- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version
{
    long major = host_settings()->macos;
    return major > version.majorVersion ||
           (major == version.majorVersion && version.minorVersion <= 0 &&
            version.patchVersion <= 0);
}

@end
