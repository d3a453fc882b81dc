/* Foundation.h -- the part of Apple's Foundation that the Metal backend and its tests use. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef signed char BOOL;
typedef unsigned long NSUInteger;
typedef long NSInteger;
typedef double CFTimeInterval;
typedef double NSTimeInterval;
typedef struct _NSZone NSZone;
typedef struct {
    NSUInteger location, length;
} NSRange;

#define YES ((BOOL)1)
#define NO  ((BOOL)0)
#define nil ((id)0)
#define Nil ((Class)0)

/* The SDK that the headers are those of.  Some declarations need macOS 15's. */
#ifndef __MAC_OS_X_VERSION_MAX_ALLOWED
#define __MAC_OS_X_VERSION_MAX_ALLOWED 150000
#endif

#define NSIntegerMax  LONG_MAX
#define NSUIntegerMax ULONG_MAX
#define NSNotFound    NSIntegerMax

#define NS_ENUM(type, name) \
    enum name : type name;  \
    enum name : type
#define NS_OPTIONS(type, name) NS_ENUM(type, name)

#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END   _Pragma("clang assume_nonnull end")

#define NS_RETURNS_RETAINED            __attribute__((ns_returns_retained))
#define NS_RETURNS_INNER_POINTER       __attribute__((objc_returns_inner_pointer))
#define NS_FORMAT_FUNCTION(text, rest) __attribute__((format(__NSString__, text, rest)))

/* Functions and constants that Objective-C, or C++, calls by their C names. */
#ifdef __cplusplus
#define FOUNDATION_EXPORT extern "C"
#else
#define FOUNDATION_EXPORT extern
#endif

static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length)
{
    NSRange range = {location, length};
    return range;
}

#import <Foundation/NSObject.h>

#import <Foundation/NSString.h>

#import <Foundation/NSCollections.h>

#import <Foundation/NSError.h>

#import <Foundation/NSProcessInfo.h>
