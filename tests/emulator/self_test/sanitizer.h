// Whether a self-test and its kernels are compiled with ThreadSanitizer: THREAD_SANITIZER.
#pragma once

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
