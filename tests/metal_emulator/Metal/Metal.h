/* Metal.h -- the part of Apple's Metal that mxnp uses, with its names, types and values. */
#pragma once
#import <Foundation/Foundation.h>

/* In this order: each uses what is above it. */
#import <Metal/MTLResource.h>

#import <Metal/MTLLibrary.h>

#import <Metal/MTLCommandEncoder.h>

#import <Metal/MTLCommandBuffer.h>

#import <Metal/MTLDevice.h>
