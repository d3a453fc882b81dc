/* device.m -- the Metal devices of this machine. */
#import <Foundation/Foundation.h>
#import <Metal/Metal.h>

#include <pthread.h>
#include <string.h>

#include "../alloc.h"
#include "../base.h"

/* Asked once: devices that come and go while the program runs are not followed, and of
 * those whose name finds no memory there are none. */
static char **names;
static int count;

static void read_names(void)
{
    @autoreleasepool {
        NSArray<id<MTLDevice>> *devices = MTLCopyAllDevices();
        names = mx_alloc([devices count] * sizeof *names);
        for (NSUInteger i = 0; names && i < [devices count]; i++) {
            const char *name = [[[devices objectAtIndex:i] name] UTF8String];
            char *copy = mx_alloc(strlen(name) + 1);
            if (!copy)
                break;
            strcpy(copy, name);
            names[count++] = copy;
        }
    }
}

int mx_metal_device_count(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_names);
    return count;
}

const char *mx_metal_device_name(int device)
{
    return device >= 0 && device < mx_metal_device_count() ? names[device] : NULL;
}
