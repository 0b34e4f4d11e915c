// words: NAME=VALUE on the command line of the programs here.
#ifndef HADOOP_WORDS_H
#define HADOOP_WORDS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *setting(char **words, const char *name, const char *usual)
{
    for (; *words; words++)
        if (strncmp(*words, name, strlen(name)) == 0 && (*words)[strlen(name)] == '=')
            return *words + strlen(name) + 1;
    return usual;
}

static uint32_t number(char **words, const char *name, uint32_t usual)
{
    const char *text = setting(words, name, NULL);
    return text ? (uint32_t)strtoul(text, NULL, 10) : usual;
}

#endif
