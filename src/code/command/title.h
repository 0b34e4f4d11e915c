// What to call a job of commands, so that who started it knows it again.
#ifndef CODE_COMMAND_TITLE_H
#define CODE_COMMAND_TITLE_H

#include "mapreduce/code.h"

// The job's name if it was given one (mapreduce.job.name), else the mapper, else the reducer: one
// line of printable UTF-8, cut with "..." after whole characters. Only for people: it does not
// identify the job.
void command_title(const weft_args *args, char title[CODE_TITLE_BYTES]);

#endif
