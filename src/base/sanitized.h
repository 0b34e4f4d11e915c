// Whether a sanitizer watches this build: it takes many times our memory, and tests may be stricter.
#ifndef BASE_SANITIZED_H
#define BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(memory_sanitizer)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif
#else
#define IS_SANITIZED 0
#endif

#endif
