// Errors: a code to decide by and a sentence to show, kept per thread.
//
// The function that detects a failure writes the sentence (err_set, err_errno), a caller that knows more wraps it
// (err_wrap puts its words in front), the caller that handles it clears it. The sentence crosses threads and
// processes only inside a report. Thread: any; each thread sees its own.
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <weft/weft.h>

#define MUST_CHECK __attribute__((warn_unused_result))

enum { ERR_TEXT_BYTES_MAX = 1024 };  // longer sentences are cut

// Sets this thread's sentence and returns the code, so that `return err_set(...)` reads well.
weft_err err_set(weft_err code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// The same for a failed system call: ": permission denied" is added and the code follows errno.
weft_err err_errno(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The same when memory ran out: err_no_memory("for a call") sets "no memory for a call" and returns
// RESOURCE_EXHAUSTED. Advice, where there is any, follows a semicolon: "to sort; give more --memory".
weft_err err_no_memory(const char *purpose, ...) __attribute__((format(printf, 1, 2)));

// Puts "words: " in front of the sentence when code is a failure; WEFT_OK passes through untouched.
weft_err err_wrap(weft_err code, const char *format, ...) __attribute__((format(printf, 2, 3)));

// This thread's sentence, "" when there is none.
const char *err_text(void);
void err_clear(void);

// Keeps the sentence while something else may set or clear it, such as freeing what a failure left.
struct err_kept {
    char text[ERR_TEXT_BYTES_MAX];
};
void err_keep(struct err_kept *kept);
void err_put_back(const struct err_kept *kept);

// The exit code of the command for an error, as errors.def says.
int err_exit_code(weft_err code);

// Ends the process with a state line when our own logic is wrong; never for user's or world's errors.
#define ASSERT(claim) ((claim) ? (void)0 : err_assert_failed(#claim, __FILE__, __LINE__))
_Noreturn void err_assert_failed(const char *claim, const char *file, int line);

#endif
