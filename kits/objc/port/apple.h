/* What FMDB takes from Apple's headers and GNUstep's lack. It is included before each file of FMDB. */

#ifndef TOUCHSTONE_APPLE_H
#define TOUCHSTONE_APPLE_H

#import <Foundation/Foundation.h>

#ifndef __deprecated_msg
#define __deprecated_msg(message)
#endif
#ifndef NS_SWIFT_NAME
#define NS_SWIFT_NAME(name)
#endif
#ifndef NS_REFINED_FOR_SWIFT
#define NS_REFINED_FOR_SWIFT
#endif

typedef int SInt32;

/* Only FMDB's version as a number is made once, which nobody asks for here. */
typedef int dispatch_once_t;
static inline void dispatch_once(dispatch_once_t *done, void (^block)(void))
{
    if (!*done) {
        *done = 1;
        block();
    }
}

#ifndef __cplusplus
/* GCC's is an object; Apple's is a null pointer of any type. */
#undef nil
#define nil ((void *)0)
#endif

#endif
