// Tests of what becomes of refusals of WebHDFS.
#include "store/hdfs/web_failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, uint32_t status, weft_err err, const char *sentence)
{
    assert_int_equal(web_failure_read((weft_bytes){text, strlen(text)}, status), err);
    assert_string_equal(err_text(), sentence);
    err_clear();
}

static void the_exception_says_which_failure_it_is(void **state)
{
    (void)state;
    expect(
        "{\"RemoteException\": {\"exception\": \"AccessControlException\", \"message\": \"no\\n\\tat java\"}}",
        403, WEFT_PERMISSION_DENIED, "WebHDFS answers 403 AccessControlException: no");
    expect("{\"RemoteException\": {\"exception\": \"FileNotFoundException\"}}", 500, WEFT_NOT_FOUND,
           "WebHDFS answers 500 FileNotFoundException");
}

static void else_the_status_does(void **state)
{
    (void)state;
    expect("", 404, WEFT_NOT_FOUND, "WebHDFS answers 404");
    expect("<html>", 401, WEFT_PERMISSION_DENIED, "WebHDFS answers 401");
    expect("{\"RemoteException\": {\"exception\": \"New\", \"message\": 7}}", 400, WEFT_UNAVAILABLE,
           "WebHDFS answers 400 New");
}

// They go to a terminal.
static void control_characters_end_a_line(void **state)
{
    (void)state;
    expect("{\"RemoteException\": {\"exception\": \"A\\u001b[2J\", \"message\": \"b\\rc\"}}", 400,
           WEFT_UNAVAILABLE, "WebHDFS answers 400 A: b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exception_says_which_failure_it_is),
        cmocka_unit_test(else_the_status_does),
        cmocka_unit_test(control_characters_end_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
