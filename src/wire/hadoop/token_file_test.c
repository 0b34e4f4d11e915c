// Tests of tokens in files: bytes that a node manager has written, both versions, and files that are cut off.

#include "wire/hadoop/token_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/hadoop.pb-c.h"
#include "wire/hadoop/delimited.h"

// What a node manager gives to an application master: one token, whose alias and service are empty.
static const char written[] = "HDTS\0\x01\0\x03iii\x04pppp\x10YARN_AM_RM_TOKEN\0\0";

static void assert_bytes(weft_bytes bytes, const char *text)
{
    assert_int_equal(bytes.size, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.size);
}

static void a_file_of_a_node_manager_is_read_and_written_back(void **state)
{
    (void)state;
    struct token_file file;
    struct buf out = {0};
    const weft_bytes bytes = {written, sizeof written - 1};
    assert_int_equal(token_file_read(bytes, &file), WEFT_OK);
    const struct hadoop_token *token = token_file_find(&file, "YARN_AM_RM_TOKEN");
    assert_non_null(token);
    assert_bytes(token->identifier, "iii");
    assert_bytes(token->password, "pppp");
    assert_bytes(token->service, "");
    assert_null(token_file_find(&file, "YARN_AM_RM_TOKE"));
    assert_null(token_file_find_secret(&file, ""));
    token_file_write(&out, &file);
    assert_int_equal(out.size, bytes.size);
    assert_memory_equal(out.data, bytes.data, bytes.size);
    buf_fini(&out);
    token_file_fini(&file);
}

static void a_container_without_tokens_has_seven_bytes(void **state)
{
    (void)state;
    struct token_file file;
    assert_int_equal(token_file_read((weft_bytes){"HDTS\0\0\0", 7}, &file), WEFT_OK);
    assert_int_equal(file.tokens.count + file.secrets.count, 0);
    token_file_fini(&file);
}

static void sizes_of_all_lengths_survive(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 127, 128, 255, 256, 65535, 65536, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *value = calloc(1, sizes[i] + 1);
        memset(value, 'x', sizes[i]);
        struct token_file file = {0}, again;
        struct buf out = {0};
        const struct hadoop_secret secret = {{"a", 1}, {value, sizes[i]}};
        assert_true(VEC_PUSH(&file.secrets, secret));
        token_file_write(&out, &file);
        assert_int_equal(token_file_read(buf_bytes(&out), &again), WEFT_OK);
        const struct hadoop_secret *found = token_file_find_secret(&again, "a");
        assert_non_null(found);
        assert_bytes(found->value, value);
        token_file_fini(&file);
        token_file_fini(&again);
        buf_fini(&out);
        free(value);
    }
}

static void the_other_form_is_read_too(void **state)
{
    (void)state;
    struct buf out = {0};
    Hadoop__Token token = HADOOP__TOKEN__INIT;
    Hadoop__Credential one = HADOOP__CREDENTIAL__INIT, two = HADOOP__CREDENTIAL__INIT;
    Hadoop__Credential *tokens[] = {&one}, *secrets[] = {&two};
    Hadoop__Credentials all = HADOOP__CREDENTIALS__INIT;
    token.identifier = (ProtobufCBinaryData){2, (uint8_t *)"id"};
    token.password = (ProtobufCBinaryData){2, (uint8_t *)"pw"};
    token.kind = (char *)"kind";
    token.service = (char *)"host:1";
    one.alias = (char *)"alias";
    one.token = &token;
    two.alias = (char *)"name";
    two.has_secret = true;
    two.secret = (ProtobufCBinaryData){3, (uint8_t *)"abc"};
    all.n_tokens = all.n_secrets = 1;
    all.tokens = tokens;
    all.secrets = secrets;
    buf_append(&out, "HDTS\1", 5);
    delimited_write(&out, &all.base);
    struct token_file file;
    assert_int_equal(token_file_read(buf_bytes(&out), &file), WEFT_OK);
    assert_bytes(token_file_find(&file, "kind")->service, "host:1");
    assert_bytes(token_file_find_secret(&file, "name")->value, "abc");
    token_file_fini(&file);
    for (size_t size = 0; size < out.size; size++) {
        assert_int_equal(token_file_read((weft_bytes){out.data, size}, &file), WEFT_DATA_LOSS);
        token_file_fini(&file);
    }
    buf_fini(&out);
    err_clear();
}

static void what_is_no_file_of_tokens_is_refused(void **state)
{
    (void)state;
    struct token_file file;
    for (size_t size = 0; size < sizeof written - 1; size++) {
        assert_int_equal(token_file_read((weft_bytes){written, size}, &file), WEFT_DATA_LOSS);
        token_file_fini(&file);
    }
    static const struct {
        const char *bytes;
        size_t size;
    } wrong[] = {{"HDTS\2\0\0", 7},
                 {"hdts\0\0\0", 7},
                 {"HDTS\0\xff\0", 7},                                 // a count of -1
                 {"HDTS\0\x80\1", 7},                                 // another negative one
                 {"HDTS\0\x88\x7f\xff\xff\xff\xff\xff\xff\xff", 14},  // more than there is
                 {"HDTS\0\x88\xff\xff\xff\xff\xff\xff\xff\xff", 14},
                 {"HDTS\0\x01\x8c\x7f\xff\xff\xff", 11}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(token_file_read((weft_bytes){wrong[i].bytes, wrong[i].size}, &file),
                         WEFT_DATA_LOSS);
        token_file_fini(&file);
    }
    err_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_of_a_node_manager_is_read_and_written_back),
        cmocka_unit_test(a_container_without_tokens_has_seven_bytes),
        cmocka_unit_test(sizes_of_all_lengths_survive),
        cmocka_unit_test(the_other_form_is_read_too),
        cmocka_unit_test(what_is_no_file_of_tokens_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
