// Which sanitizer a self-test is compiled with: ADDRESS_SANITIZER or THREAD_SANITIZER, and SANITIZED with either.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif

#if defined(ADDRESS_SANITIZER) || defined(THREAD_SANITIZER)
#define SANITIZED 1
#endif
