/* library.m -- libraries, functions and pipelines. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#import "objects.h"

NSErrorDomain const MTLLibraryErrorDomain = @"MTLLibraryErrorDomain";

@implementation MTLCompileOptions {
    MTLMathMode _mathMode;
    MTLMathFloatingPointFunctions _mathFloatingPointFunctions;
    MTLLanguageVersion _languageVersion;
}

- (instancetype)init
{
    /* Apple's defaults.  That of the version depends on the SDK that the executable was linked
     * with, which is an old one for many builds of Python. */
    _mathMode = MTLMathModeFast;
    _mathFloatingPointFunctions = MTLMathFloatingPointFunctionsFast;
    _languageVersion = MTLLanguageVersion2_4;
    return self;
}

- (id)copyWithZone:(NSZone *)zone
{
    (void)zone;
    MTLCompileOptions *copy = [MTLCompileOptions new];
    copy->_mathMode = _mathMode;
    copy->_mathFloatingPointFunctions = _mathFloatingPointFunctions;
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
    _mathFloatingPointFunctions = fastMathEnabled ? MTLMathFloatingPointFunctionsFast
                                                  : MTLMathFloatingPointFunctionsPrecise;
}

- (MTLMathFloatingPointFunctions)mathFloatingPointFunctions
{
    return _mathFloatingPointFunctions;
}

- (void)setMathFloatingPointFunctions:(MTLMathFloatingPointFunctions)functions
{
    _mathFloatingPointFunctions = functions;
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

/* The newest version of the language that macOS has. */
static MTLLanguageVersion newest_version(void)
{
    long macos = host_settings()->macos;
    return macos >= 26   ? MTLLanguageVersion4_0
           : macos >= 15 ? MTLLanguageVersion3_2
           : macos >= 14 ? MTLLanguageVersion3_1
           : macos >= 13 ? MTLLanguageVersion3_0
                         : MTLLanguageVersion2_4;
}

static struct language language_of(MTLCompileOptions *options)
{
    MTLLanguageVersion version = [options languageVersion];
    return (struct language){
        .fast_math = [options mathMode] != MTLMathModeSafe,
        .fast_functions =
            [options mathFloatingPointFunctions] == MTLMathFloatingPointFunctionsFast,
        .version = (uint16_t)((version >> 16) * 100 + (version & 0xffff) * 10),
    };
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
    if (!options)
        options = [[MTLCompileOptions new] autorelease];
    if ([options languageVersion] > newest_version()) {
        set_error(error, MTLLibraryErrorUnsupported,
                  "this version of macOS does not have the language version");
        return nil;
    }
    char *diagnostics = NULL;
    const struct kernel_library *compiled =
        load_library([source UTF8String], language_of(options), &diagnostics);
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
    const struct msl_kernel *kernel = &function->_library->_library->kernels[function->_number];
    if (kernel->threadgroup_bytes > ENGINE_THREADGROUP_MEMORY) {
        char text[128];
        snprintf(text, sizeof text,
                 "Threadgroup memory size (%u) exceeds the maximum threadgroup memory allowed (%d)",
                 kernel->threadgroup_bytes, ENGINE_THREADGROUP_MEMORY);
        set_error(error, MTLLibraryErrorInternal, text);
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
    long registers = host_settings()->pipeline_threads;
    NSUInteger wanted = kernel_of(self)->max_threads;
    return wanted ? wanted : registers ? (NSUInteger)registers : ENGINE_THREADS;
}

- (NSUInteger)threadExecutionWidth
{
    return ENGINE_SIMD_WIDTH;
}

- (NSUInteger)staticThreadgroupMemoryLength
{
    return kernel_of(self)->threadgroup_bytes;
}

@end
