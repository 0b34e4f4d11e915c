// For simulated worlds without HDFS: outputs there stay on their machines. Linked instead of src/store/output_far.c.

#include "store/output_state.h"

static weft_err refuse(const struct output *output)
{
    return err_set(WEFT_UNIMPLEMENTED, "%s: there is no other store in this world", output->shown);
}

weft_err output_far_open(struct output *output, const struct output_options *options)
{
    (void)options;
    return refuse(output);
}

weft_err output_far_plan(struct output *output)
{
    return refuse(output);
}

weft_err output_far_note(struct output *output, uint32_t part)
{
    (void)part;
    return refuse(output);
}

bool output_far_is_idle(const struct output *output)
{
    (void)output;
    return true;
}

weft_err output_far_verify(const struct output *output, struct manifest *manifest)
{
    (void)manifest;
    return refuse(output);
}

weft_err output_far_commit(struct output *output)
{
    return refuse(output);
}

bool output_far_has_part(const struct output *output, uint32_t part, uint64_t bytes)
{
    (void)output;
    (void)part;
    (void)bytes;
    return false;
}

bool output_far_is_there(const struct output *output, uint32_t part)
{
    (void)output;
    (void)part;
    return false;
}

weft_err output_far_remove_rest(const struct output *output)
{
    (void)output;
    return WEFT_OK;
}

void output_far_remove_work(const struct output *output)
{
    (void)output;
}

weft_err output_find_earlier(struct output *output)
{
    (void)output;
    return WEFT_OK;
}

weft_err output_bring_earlier(struct output *output)
{
    (void)output;
    return WEFT_OK;
}

void output_far_abort(const struct output *output)
{
    (void)output;
}

void output_far_free(struct output_far *far)
{
    (void)far;
}
