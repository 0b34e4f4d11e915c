// A new way to run user code is one more line here.

#include "code/codes.h"

const struct code *const codes[] = {&code_command, &code_python, &code_native, NULL};

// Copies of a job share its functions; its name they have copied, and another job may be called the same.
const struct code *code_of(const weft_job *job)
{
    const struct code *const *code = codes;
    while ((*code)->job && (!job || (*code)->job->configure != job->configure))
        code++;
    return *code;
}

const struct code *code_numbered(uint32_t number)
{
    const struct code *const *code = codes;
    while (*code && (*code)->number != number)
        code++;
    return *code;
}

static bool is_option(const char *word, const char *name)
{
    const size_t length = strlen(name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 &&
           (word[2 + length] == 0 || word[2 + length] == '=');
}

const struct code *code_claimed_by(char *const *words, size_t count)
{
    for (size_t i = 0; i < count && strcmp(words[i], "--") != 0; i++)
        for (const struct code *const *code = codes; *code; code++)
            for (const char *const *name = (*code)->claims; name && *name; name++)
                if (is_option(words[i], *name))
                    return *code;
    return NULL;
}
