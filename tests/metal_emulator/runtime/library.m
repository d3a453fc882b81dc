/* library.m -- libraries, functions and pipelines. */
#include <stdlib.h>
#include <string.h>

#import "objects.h"

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

@implementation MTLCompileOptions {
    MTLMathMode _mathMode;
    MTLLanguageVersion _languageVersion;
}

- (instancetype)init
{
    _mathMode = MTLMathModeFast; /* Apple's default */
    _languageVersion = MTLLanguageVersion3_1;
    return self;
}

- (id)copyWithZone:(NSZone *)zone
{
    (void)zone;
    MTLCompileOptions *copy = [MTLCompileOptions new];
    copy->_mathMode = _mathMode;
    copy->_languageVersion = _languageVersion;
    return copy;
}

- (BOOL)fastMathEnabled
{
    return _mathMode == MTLMathModeFast;
}

- (void)setFastMathEnabled:(BOOL)fastMathEnabled
{
    _mathMode = fastMathEnabled ? MTLMathModeFast : MTLMathModeSafe;
}

- (MTLMathMode)mathMode
{
    return _mathMode;
}

- (void)setMathMode:(MTLMathMode)mathMode
{
    _mathMode = mathMode;
}

- (MTLLanguageVersion)languageVersion
{
    return _languageVersion;
}

- (void)setLanguageVersion:(MTLLanguageVersion)languageVersion
{
    _languageVersion = languageVersion;
}

@end

static void set_error(NSError **error, MTLLibraryError code, const char *text)
{
    if (error)
        *error = host_error(MTLLibraryErrorDomain, (NSInteger)code, text);
}

@implementation HostLibrary

+ (instancetype)newWithSource:(NSString *)source
                      options:(MTLCompileOptions *)options
                        error:(NSError **)error
{
    long fault = take_fault(&host_settings()->fail_next_library);
    if (fault) {
        set_error(error, (MTLLibraryError)fault, "injected fault");
        return nil;
    }
    BOOL is_fast = !options || [options mathMode] != MTLMathModeSafe;
    char *diagnostics = NULL;
    const struct kernel_library *compiled =
        load_library([source UTF8String], is_fast, &diagnostics);
    if (!compiled) {
        set_error(error, MTLLibraryErrorCompileFailure, diagnostics);
        free(diagnostics);
        return nil;
    }
    HostLibrary *library = [self new];
    library->_library = compiled;
    return library;
}

- (NSArray<NSString *> *)functionNames
{
    NSMutableArray *names = [NSMutableArray array];
    for (uint32_t i = 0; i < _library->kernel_count; i++)
        [names addObject:string(_library->kernels[i].name)];
    return names;
}

- (id<MTLFunction>)newFunctionWithName:(NSString *)functionName
{
    for (uint32_t i = 0; i < _library->kernel_count; i++)
        if (!strcmp(_library->kernels[i].name, [functionName UTF8String])) {
            HostFunction *function = [HostFunction new];
            function->_library = [self retain];
            function->_number = i;
            return function;
        }
    return nil;
}

@end

@implementation HostFunction

- (void)dealloc
{
    [_library release];
    [super dealloc];
}

- (NSString *)name
{
    return string(_library->_library->kernels[_number].name);
}

@end

@implementation HostPipeline

+ (instancetype)newWithFunction:(HostFunction *)function error:(NSError **)error
{
    long fault = take_fault(&host_settings()->fail_next_pipeline);
    if (fault) {
        set_error(error, (MTLLibraryError)fault, "injected fault");
        return nil;
    }
    HostPipeline *pipeline = [self new];
    pipeline->_library = function->_library->_library;
    pipeline->_number = function->_number;
    return pipeline;
}

/* Only what a descriptor gives; we have none. */
- (NSString *)label
{
    return nil;
}

- (NSUInteger)maxTotalThreadsPerThreadgroup
{
    return ENGINE_THREADS;
}

- (NSUInteger)threadExecutionWidth
{
    return ENGINE_SIMD_WIDTH;
}

/* Not known before it runs, when all of its threadgroup memory is checked. */
- (NSUInteger)staticThreadgroupMemoryLength
{
    return 0;
}

@end
