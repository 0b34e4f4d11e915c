// Building the program of a pattern, node by node.

#include "jobs/grep/search_program.h"

static bool build_node(struct program *program, uint32_t index);

static bool add_step(struct program *program, struct step step)
{
    return program->steps.count < PROGRAM_STEPS_MAX && VEC_PUSH(&program->steps, step);
}

static uint32_t here(const struct program *program)
{
    return (uint32_t)program->steps.count;
}

//        fork -> second         the last branch needs neither
//        first
//        jump -> end
// second ...
static bool build_choice(struct program *program, const struct node *node)
{
    const struct node *nodes = program->syntax->nodes.items;
    uint32_t jumps = 0;  // the jump before, in a chain that is turned into the end's place
    uint32_t child = node->child;
    for (; nodes[child].sibling; child = nodes[child].sibling) {
        const uint32_t fork = here(program);
        if (!add_step(program, (struct step){.kind = STEP_FORK}) || !build_node(program, child))
            return false;
        const uint32_t jump = here(program);
        if (!add_step(program, (struct step){.kind = STEP_JUMP, .to = jumps}))
            return false;
        jumps = jump;
        program->steps.items[fork].to = here(program);
    }
    if (!build_node(program, child))
        return false;
    while (jumps) {
        struct step *jump = &program->steps.items[jumps];
        jumps = jump->to;
        jump->to = here(program);
    }
    return true;
}

// fork -> end, child, jump -> fork
static bool build_loop(struct program *program, uint32_t child)
{
    const uint32_t fork = here(program);
    if (!add_step(program, (struct step){.kind = STEP_FORK}) || !build_node(program, child) ||
        !add_step(program, (struct step){.kind = STEP_JUMP, .to = fork}))
        return false;
    program->steps.items[fork].to = here(program);
    return true;
}

// The child min times; then a loop, or up to max times, each with a fork that skips it.
static bool build_repeat(struct program *program, const struct node *node)
{
    for (int i = 0; i < node->min; i++)
        if (!build_node(program, node->child))
            return false;
    if (node->max == SYNTAX_UNLIMITED)
        return build_loop(program, node->child);
    for (int i = node->min; i < node->max; i++) {
        const uint32_t fork = here(program);
        if (!add_step(program, (struct step){.kind = STEP_FORK}) ||
            !build_node(program, node->child))
            return false;
        program->steps.items[fork].to = here(program);
    }
    return true;
}

// Any text within the line.
static bool build_any_text(struct program *program)
{
    const uint32_t fork = here(program);
    return add_step(program, (struct step){.kind = STEP_FORK, .to = fork + 3}) &&
           add_step(program, (struct step){.kind = STEP_SET, .set = UINT32_MAX}) &&
           add_step(program, (struct step){.kind = STEP_JUMP, .to = fork});
}

static bool build_node(struct program *program, uint32_t index)
{
    const struct node *nodes = program->syntax->nodes.items, *node = &nodes[index];
    switch (node->kind) {
    case NODE_EMPTY:
        return true;
    case NODE_SET:
        return add_step(program, (struct step){.kind = STEP_SET, .set = node->set});
    case NODE_SEQUENCE:
        for (uint32_t child = node->child; child; child = nodes[child].sibling)
            if (!build_node(program, child))
                return false;
        return true;
    case NODE_CHOICE:
        return build_choice(program, node);
    case NODE_REPEAT:
        return build_repeat(program, node);
    case NODE_ASSERT:
        if (node->assert == ASSERT_LINE_START || node->assert == ASSERT_LINE_END)
            program->has_line_assert = true;
        else
            program->has_word_assert = true;
        return add_step(program, (struct step){.kind = STEP_ASSERT, .assert = node->assert});
    case NODE_BACKREF:
        return build_any_text(program);
    }
    return false;
}

weft_err program_build(struct program *program, const struct syntax *syntax)
{
    *program = (struct program){.syntax = syntax};
    if (build_node(program, syntax->root) && add_step(program, (struct step){.kind = STEP_MATCH}))
        return WEFT_OK;
    return err_set(WEFT_INVALID_ARGUMENT,
                   "the pattern is too large: with its repetitions written out it has more than %d "
                   "elements",
                   PROGRAM_STEPS_MAX);
}

void program_fini(struct program *program)
{
    VEC_FINI(&program->steps);
}
