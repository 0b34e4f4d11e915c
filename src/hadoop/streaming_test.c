// Tests of the words of a streaming job: words that are understood, words that are refused, and the messages.
#include "hadoop/streaming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hadoop/property.h"

enum { WORDS_MAX = 64 };

static struct streaming_options options;

// The words of `text`, which blanks divide; '~' stands for a blank inside a word.
static weft_err parse(const char *text)
{
    static const struct args_option own[] = {
        {1, 'n', "slots", "N", NULL}, {2, 0, "force", NULL, NULL}, {0}};
    char *copy = strdup(text), *words[WORDS_MAX], *rest = copy;
    size_t count = 0;
    for (char *word; (word = strsep(&rest, " "));) {
        for (char *at = word; *at; at++)
            *at = *at == '~' ? ' ' : *at;
        if (*word)
            words[count++] = word;
        assert_true(count < WORDS_MAX);
    }
    streaming_fini(&options);
    const weft_err err = streaming_parse(&options, words, count, own);
    free(copy);
    return err;
}

#define BASE "-input in -output out -mapper cat "

static void understand(const char *text)
{
    const weft_err err = parse(text);
    if (err)
        fail_msg("%s: %s", text, weft_error());
}

static void assert_refused(const char *text, weft_err code, const char *name)
{
    assert_int_equal(parse(text), code);
    if (!strstr(weft_error(), name))
        fail_msg("%s: %s", text, weft_error());
}

static int teardown(void **unused)
{
    (void)unused;
    streaming_fini(&options);
    return 0;
}

static void the_usual_words_are_understood(void **unused)
{
    (void)unused;
    understand("-files m.py,lib/r.py#r -input a,b -output out/x -mapper m.py~-v -reducer r");
    assert_int_equal(options.inputs.count, 2);
    assert_string_equal(options.inputs.items[1], "b");
    assert_null(options.inputs.items[2]);
    assert_string_equal(options.output, "out/x");
    assert_string_equal(options.map, "m.py -v");
    assert_string_equal(options.reduce, "r");
    assert_null(options.combine);
    assert_int_equal(options.files.count, 2);
    assert_string_equal(options.files.items[1], "lib/r.py#r");
    assert_int_equal(options.reducers, 1);
    assert_string_equal(options.map_separator, "\t");
    assert_int_equal(options.map_key_fields, 1);
    assert_false(options.has_keys);
}

static void one_dash_is_as_good_as_two(void **unused)
{
    (void)unused;
    understand("--input in --output out --mapper cat --numReduceTasks 3");
    assert_int_equal(options.reducers, 3);
}

static void some_options_take_many_values(void **unused)
{
    (void)unused;
    understand("-input a b{1,2} c,d -file x y -output out -mapper cat -input e");
    assert_int_equal(options.inputs.count, 5);
    assert_string_equal(options.inputs.items[1], "b{1,2}");
    assert_string_equal(options.inputs.items[4], "e");
    assert_int_equal(options.files.count, 2);
    assert_refused(BASE "-output out2 stray", WEFT_INVALID_ARGUMENT, "stray");
}

static void of_two_mappers_the_first_counts(void **unused)
{
    (void)unused;
    understand(BASE "-mapper second");
    assert_string_equal(options.map, "cat");
}

static void quotes_around_a_value_are_taken_off(void **unused)
{
    (void)unused;
    understand("-input \"in\" -output out -mapper \"sed~s/a/b/\" -reducer \"a\"b\"");
    assert_string_equal(options.inputs.items[0], "in");
    assert_string_equal(options.map, "sed s/a/b/");
    assert_string_equal(options.reduce, "\"a\"b\"");
}

static void a_value_may_begin_with_a_dash(void **unused)
{
    (void)unused;
    understand("-input in -output out -mapper -weird");
    assert_string_equal(options.map, "-weird");
    assert_refused("-input in -output out -mapper -reducer cat", WEFT_INVALID_ARGUMENT, "-mapper");
    assert_refused("-input in -output out -mapper", WEFT_INVALID_ARGUMENT, "-mapper");
}

static void addresses_of_files_are_files(void **unused)
{
    (void)unused;
    understand("-input file:///a/b -input file:/c -input d:e -output file:/x -mapper cat");
    assert_string_equal(options.inputs.items[0], "/a/b");
    assert_string_equal(options.inputs.items[1], "/c");
    assert_string_equal(options.inputs.items[2], "d:e");
    assert_string_equal(options.output, "/x");
    assert_refused("-input hdfs://h/a -output o", WEFT_UNIMPLEMENTED, "hdfs://h/a");
    assert_refused("-input a -output s3://h/a", WEFT_UNIMPLEMENTED, "s3://h/a");
    assert_refused("-fs hdfs://name:8020 " BASE, WEFT_UNIMPLEMENTED, "hdfs://name:8020");
    understand("-fs local -jt host:8021 " BASE);
}

static void an_unknown_option_is_named_with_a_guess(void **unused)
{
    (void)unused;
    assert_refused(BASE "-frobnicate 3", WEFT_INVALID_ARGUMENT, "-frobnicate");
    assert_refused(BASE "-redcer cat", WEFT_INVALID_ARGUMENT, "did you mean -reducer");
    assert_refused(BASE "--slot 3", WEFT_INVALID_ARGUMENT, "--slot");
}

static void what_cannot_be_done_is_refused_by_name(void **unused)
{
    (void)unused;
    static const char *const names[] = {"-background", "-inputreader x", "-io rawbytes",
                                        "-additionalconfspec x"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf words = {0}, name = {0};
        buf_append_text(&words, BASE);
        buf_append_text(&words, names[i]);
        buf_append(&name, names[i], strcspn(names[i], " "));
        assert_refused(buf_text(&words), WEFT_UNIMPLEMENTED, buf_text(&name));
        assert_non_null(strstr(weft_error(), "try: "));
        buf_fini(&words);
        buf_fini(&name);
    }
}

static void what_can_do_no_harm_is_ignored_with_a_word(void **unused)
{
    (void)unused;
    understand(BASE "-libjars x.jar,y.jar -mapdebug m.sh -reducedebug r.sh");
    assert_int_equal(options.notes.count, 3);
    assert_non_null(strstr(options.notes.items[0], "-libjars x.jar,y.jar is ignored"));
    assert_non_null(strstr(options.notes.items[1], "-mapdebug"));
    understand(BASE);
    assert_int_equal(options.notes.count, 0);
}

static void archives_are_named_as_files_are(void **unused)
{
    (void)unused;
    understand(BASE "-archives a.zip,file:/b/c.tar#c -cacheArchive d.jar");
    assert_int_equal(options.archives.count, 3);
    assert_string_equal(options.archives.items[0], "a.zip");
    assert_string_equal(options.archives.items[1], "/b/c.tar#c");
    assert_string_equal(options.archives.items[2], "d.jar");
    assert_refused(BASE "-archives hdfs://h/a.zip", WEFT_UNIMPLEMENTED, "hdfs://h/a.zip");
}

static void a_configuration_file_is_found_among_the_words(void **unused)
{
    (void)unused;
    char *const words[] = {"-mapper", "cat", "--conf", "a.xml", "-conf"};
    assert_int_equal(streaming_find_conf(words, 5), 2);
    assert_int_equal(streaming_find_conf(words, 3), 3);
    assert_int_equal(streaming_find_conf(words + 4, 1), 1);
    assert_int_equal(streaming_find_conf(words, 0), 0);
}

static void input_and_output_are_needed(void **unused)
{
    (void)unused;
    assert_refused("-output out -mapper cat", WEFT_INVALID_ARGUMENT, "-input");
    assert_refused("-input in -mapper cat", WEFT_INVALID_ARGUMENT, "-output");
    assert_refused("-input , -output out", WEFT_INVALID_ARGUMENT, "-input");
}

static void help_asks_for_nothing_else(void **unused)
{
    (void)unused;
    understand("-help");
    assert_true(options.wants_help);
    understand("-h");
    assert_true(options.wants_help);
    understand("--help");
    assert_true(options.wants_help);
    understand("-info -frobnicate");
    assert_true(options.wants_help);
}

static void options_of_weft_pass_through(void **unused)
{
    (void)unused;
    understand(BASE "--slots 4 --force --slots=2 -verbose");
    assert_int_equal(options.own.count, 4);
    assert_string_equal(options.own.items[0], "--slots=4");
    assert_string_equal(options.own.items[1], "--force");
    assert_string_equal(options.own.items[2], "--slots=2");
    assert_string_equal(options.own.items[3], "--verbose");
    assert_refused(BASE "--slots", WEFT_INVALID_ARGUMENT, "--slots");
}

static void the_number_of_reducers_has_an_order_of_precedence(void **unused)
{
    (void)unused;
    understand("-D mapreduce.job.reduces=5 " BASE "-numReduceTasks 2");
    assert_int_equal(options.reducers, 2);
    understand("-D mapred.reduce.tasks=5 " BASE);
    assert_int_equal(options.reducers, 5);
    understand(BASE "-jobconf mapred.reduce.tasks=6");
    assert_int_equal(options.reducers, 6);
    understand(BASE "-numReduceTasks 2 -reducer NONE");
    assert_int_equal(options.reducers, 0);
    understand("-Dmapreduce.job.reduces=0 " BASE "-reducer cat -combiner x");
    assert_int_equal(options.reducers, 0);
    assert_null(options.reduce);
    assert_null(options.combine);
    assert_refused(BASE "-numReduceTasks many", WEFT_INVALID_ARGUMENT, "many");
    assert_refused(BASE "-numReduceTasks -1", WEFT_INVALID_ARGUMENT, "-1");
    assert_refused("-D mapred.reduce.tasks=x " BASE, WEFT_INVALID_ARGUMENT, "mapred.reduce.tasks");
}

static void the_last_of_two_values_of_a_property_counts(void **unused)
{
    (void)unused;
    understand("-D mapred.reduce.tasks=5 -D mapreduce.job.reduces=7 -D a.b=1 -D noequals " BASE);
    assert_int_equal(options.reducers, 7);
    assert_int_equal(options.property_count, 2);
    assert_string_equal(streaming_get(&options, "a.b"), "1");
    assert_null(streaming_get(&options, "noequals"));
}

static void separators_and_key_fields_are_read(void **unused)
{
    (void)unused;
    understand("-D stream.map.output.field.separator=:: -D stream.num.map.output.key.fields=4 "
               "-D stream.reduce.input.field.separator=; -D stream.reduce.output.field.separator=. "
               "-D stream.num.reduce.output.key.fields=2 -D mapred.textoutputformat.separator= "
               "-D map.output.key.field.separator=, " BASE);
    assert_string_equal(options.map_separator, "::");
    assert_int_equal(options.map_key_fields, 4);
    assert_string_equal(options.reduce_input_separator, ";");
    assert_string_equal(options.reduce_separator, ".");
    assert_int_equal(options.reduce_key_fields, 2);
    assert_string_equal(options.output_separator, "\t");
    assert_string_equal(options.key_separator, ",");
}

#define LIBRARY "org.apache.hadoop.mapred.lib."

static void classes_that_are_known_by_name(void **unused)
{
    (void)unused;
    understand("-D mapreduce.partition.keypartitioner.options=-k1,2 "
               "-D mapreduce.job.output.key.comparator.class=" LIBRARY "KeyFieldBasedComparator "
               "-D mapreduce.partition.keycomparator.options=-k1,1~-k2,2nr " BASE
               "-partitioner " LIBRARY "KeyFieldBasedPartitioner -reducer " LIBRARY
               "IdentityReducer");
    assert_true(options.partitions_by_fields && options.compares_by_fields);
    assert_string_equal(options.partition_options, "-k1,2");
    assert_string_equal(options.compare_options, "-k1,1 -k2,2nr");
    assert_null(options.reduce);
    understand("-D num.key.fields.for.partition=3 " BASE "-partitioner " LIBRARY
               "KeyFieldBasedPartitioner");
    assert_string_equal(options.partition_options, "-k1,3");
    understand("-input i -output o -mapper " LIBRARY "IdentityMapper");
    assert_null(options.map);
    understand(BASE "-reducer Aggregate");
    assert_true(options.is_aggregate);
    understand(BASE "-inputformat " LIBRARY "NLineInputFormat");
    assert_int_equal(options.input, STREAMING_N_LINES);
    assert_int_equal(options.lines_per_task, 1);
    assert_true(options.has_keys);
    understand("-D stream.map.input.ignoreKey=true " BASE "-inputformat " LIBRARY
               "NLineInputFormat");
    assert_false(options.has_keys);
    understand(BASE "-inputformat KeyValueTextInputFormat");
    assert_int_equal(options.input, STREAMING_KEY_VALUES);
}

static void other_classes_are_refused_by_name(void **unused)
{
    (void)unused;
    assert_refused(BASE "-partitioner com.example.Mine", WEFT_UNIMPLEMENTED, "com.example.Mine");
    assert_refused(BASE "-inputformat SequenceFileInputFormat", WEFT_UNIMPLEMENTED,
                   "SequenceFileInputFormat");
    assert_refused(BASE "-outputformat TextOutputFormat", WEFT_UNIMPLEMENTED, "TextOutputFormat");
    assert_refused(BASE "-reducer " LIBRARY "LongSumReducer", WEFT_UNIMPLEMENTED, "LongSumReducer");
    assert_refused("-D mapreduce.job.output.key.comparator.class=com.example.C " BASE,
                   WEFT_UNIMPLEMENTED, "com.example.C");
    understand(BASE "-reducer script.R");
    assert_string_equal(options.reduce, "script.R");
}

// Hadoop, too, has no way from the numbers of lines to a command.
static void lines_passed_on_cannot_go_to_a_command(void **unused)
{
    (void)unused;
    assert_refused("-input i -output o -reducer cat", WEFT_UNIMPLEMENTED, "-mapper");
    assert_refused("-input i -output o -reducer aggregate", WEFT_UNIMPLEMENTED, "-mapper");
    understand("-input i -output o -reducer NONE");
    understand("-input i -output o -inputformat KeyValueTextInputFormat -reducer cat");
}

static void compression_of_the_output_is_by_codecs_that_exist_here(void **unused)
{
    (void)unused;
#define COMPRESS "-D mapred.output.compress=true "
#define CODEC "-D mapred.output.compression.codec=org.apache.hadoop.io.compress."
    understand(COMPRESS CODEC "GzipCodec " BASE);
    assert_int_equal(options.codec, STREAMING_GZIP);
    understand(CODEC "BZip2Codec " BASE);
    assert_int_equal(options.codec, STREAMING_PLAIN);
    assert_refused(COMPRESS BASE, WEFT_UNIMPLEMENTED, "compress");
    assert_refused(COMPRESS CODEC "BZip2Codec " BASE, WEFT_UNIMPLEMENTED, "BZip2Codec");
}

static void properties_that_may_change_a_result_are_refused(void **unused)
{
    (void)unused;
    assert_refused("-D mapreduce.job.combine.class=X " BASE, WEFT_UNIMPLEMENTED,
                   "mapreduce.job.combine.class");
    assert_refused("-D mapred.skip.map.max.skip.records=1 " BASE, WEFT_UNIMPLEMENTED,
                   "mapred.skip.map.max.skip.records");
    assert_refused("-D stream.reduce.output=typedbytes " BASE, WEFT_UNIMPLEMENTED,
                   "stream.reduce.output");
    assert_refused("-D mapreduce.map.failures.maxpercent=5 " BASE, WEFT_UNIMPLEMENTED,
                   "mapreduce.map.failures.maxpercent");
    assert_refused("-D mapreduce.map.env=A=1 " BASE, WEFT_UNIMPLEMENTED, "-cmdenv");
    understand("-D stream.reduce.output=text -D mapreduce.map.failures.maxpercent=0 " BASE);
}

static void kinds_of_properties(void **unused)
{
    (void)unused;
    static const struct {
        const char *name;
        enum property_kind kind;
    } all[] = {
        {"mapreduce.job.reduces", PROPERTY_KNOWN},
        {"mapreduce.map.memory.mb", PROPERTY_HARMLESS},
        {"mapreduce.job.name", PROPERTY_HARMLESS},
        {"mapreduce.job.queuename", PROPERTY_HARMLESS},
        {"mapreduce.map.output.compress.codec", PROPERTY_HARMLESS},
        {"mapred.child.java.opts", PROPERTY_HARMLESS},
        {"yarn.app.mapreduce.am.resource.mb", PROPERTY_OWN},
        {"my.threshold", PROPERTY_OWN},
        {"mapreduce.job.output.group.comparator.class", PROPERTY_REFUSED},
        {"mapreduce.no.such.thing", PROPERTY_REFUSED},
        {"stream.recordreader.class", PROPERTY_REFUSED},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(property_kind_of(all[i].name), all[i].kind);
    assert_string_equal(property_newer_name("mapred.reduce.tasks"), "mapreduce.job.reduces");
    assert_string_equal(property_newer_name("my.own"), "my.own");
}

static void numbers_are_read_strictly(void **unused)
{
    (void)unused;
    uint64_t number = 1;
    assert_true(property_read_number("18446744073709551615", UINT64_MAX, &number));
    assert_int_equal(number, UINT64_MAX);
    assert_false(property_read_number("18446744073709551616", UINT64_MAX, &number));
    assert_false(property_read_number("8", 7, &number));
    assert_false(property_read_number("", 7, &number));
    assert_false(property_read_number("1x", 100, &number));
    assert_true(property_read_number("0", 7, &number));
    assert_int_equal(number, 0);
}

// ---- The job's words -----------------------------------------------------------------------------------

static void assert_spelled(const char *directory, const char *expected)
{
    struct streaming_list words = {0};
    struct buf joined = {0};
    const struct streaming_list none = {0};
    assert_int_equal(streaming_spell_job(&options, &none, directory, &words), WEFT_OK);
    for (size_t i = 0; i < words.count; i++) {
        buf_format(&joined, "%s[%s]", i ? " " : "", words.items[i]);
    }
    assert_string_equal(buf_text(&joined), expected);
    streaming_drop(&words);
    buf_fini(&joined);
}

static void a_job_is_spelled_in_letters(void **unused)
{
    (void)unused;
    understand(BASE "-reducer wc~-l");
    assert_spelled("/d", "[-H] [-m] [cat] [-r] [wc -l] [-p] [hash] [-d] [/d]");
    understand(BASE "-reducer NONE");
    assert_spelled(NULL, "[-H] [-m] [cat]");
    understand("-input i -output o");
    assert_spelled(NULL, "[-H] [-m] [] [-r] [] [-I] [offset] [-p] [hash] [-o] [-n]");
    understand("-D stream.num.map.output.key.fields=2 -D stream.non.zero.exit.is.failure=false "
               "-D mapreduce.output.textoutputformat.separator=; " BASE
               "-combiner c -partitioner " LIBRARY "KeyFieldBasedPartitioner");
    assert_spelled(NULL, "[-H] [-m] [cat] [-c] [c] [-r] [] [-k] [2] [-p] [fields:] [-O] [;] [-x]");
    understand(
        "-D stream.map.output.field.separator=\\ -D stream.reduce.output.field.separator=. " BASE
        "-reducer x");
    assert_spelled(NULL, "[-H] [-m] [cat] [-r] [x] [-s] [\\\\] [-t] [\t] [-p] [hash] [-i] [\t] "
                         "[-R] [.]");
    understand(BASE "-inputformat KeyValueTextInputFormat -reducer aggregate");
    assert_spelled(NULL, "[-H] [-m] [cat] [-r] [aggregate] [-I] [pairs] [-p] [hash]");
}

static bool has_text(const struct streaming_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], text) == 0)
            return true;
    return false;
}

static void properties_become_variables(void **unused)
{
    (void)unused;
    understand(
        "-D my.own-name=a~b -D mapred.job.name=x -D mapred.map.tasks=9 -numReduceTasks 2 " BASE
        "-input /x/y/ -cmdenv A=1~B=2~junk -cmdenv C=x=y");
    const struct streaming_facts facts = {"ada", "loom", "/home/ada", 3};
    struct streaming_list variables = {0};
    assert_int_equal(streaming_list_variables(&options, &facts, &variables), WEFT_OK);
    static const char *const expected[] = {
        "mapreduce_job_reduces=2",
        "mapreduce_job_user_name=ada",
        "user_name=ada",
        "mapreduce_job_submithostname=loom",
        "mapreduce_job_working_dir=file:/home/ada",
        "mapreduce_input_fileinputformat_inputdir=file:/home/ada/in,file:/x/y",
        "mapreduce_input_fileinputformat_numinputfiles=3",
        "mapreduce_output_fileoutputformat_outputdir=file:/home/ada/out",
        "stream_map_streamprocessor=cat",
        "my_own_name=a b",
        "mapreduce_job_name=x",
        "A=1",
        "B=2",
        "C=x=y",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(has_text(&variables, expected[i]));
    // How many tasks there are is said by each of them.
    for (size_t i = 0; i < variables.count; i++)
        assert_null(strstr(variables.items[i], "mapreduce_job_maps"));
    streaming_drop(&variables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_usual_words_are_understood, teardown),
        cmocka_unit_test_teardown(one_dash_is_as_good_as_two, teardown),
        cmocka_unit_test_teardown(some_options_take_many_values, teardown),
        cmocka_unit_test_teardown(of_two_mappers_the_first_counts, teardown),
        cmocka_unit_test_teardown(quotes_around_a_value_are_taken_off, teardown),
        cmocka_unit_test_teardown(a_value_may_begin_with_a_dash, teardown),
        cmocka_unit_test_teardown(addresses_of_files_are_files, teardown),
        cmocka_unit_test_teardown(an_unknown_option_is_named_with_a_guess, teardown),
        cmocka_unit_test_teardown(what_cannot_be_done_is_refused_by_name, teardown),
        cmocka_unit_test_teardown(what_can_do_no_harm_is_ignored_with_a_word, teardown),
        cmocka_unit_test_teardown(archives_are_named_as_files_are, teardown),
        cmocka_unit_test(a_configuration_file_is_found_among_the_words),
        cmocka_unit_test_teardown(input_and_output_are_needed, teardown),
        cmocka_unit_test_teardown(help_asks_for_nothing_else, teardown),
        cmocka_unit_test_teardown(options_of_weft_pass_through, teardown),
        cmocka_unit_test_teardown(the_number_of_reducers_has_an_order_of_precedence, teardown),
        cmocka_unit_test_teardown(the_last_of_two_values_of_a_property_counts, teardown),
        cmocka_unit_test_teardown(separators_and_key_fields_are_read, teardown),
        cmocka_unit_test_teardown(classes_that_are_known_by_name, teardown),
        cmocka_unit_test_teardown(other_classes_are_refused_by_name, teardown),
        cmocka_unit_test_teardown(lines_passed_on_cannot_go_to_a_command, teardown),
        cmocka_unit_test_teardown(compression_of_the_output_is_by_codecs_that_exist_here, teardown),
        cmocka_unit_test_teardown(properties_that_may_change_a_result_are_refused, teardown),
        cmocka_unit_test_teardown(kinds_of_properties, teardown),
        cmocka_unit_test_teardown(numbers_are_read_strictly, teardown),
        cmocka_unit_test_teardown(a_job_is_spelled_in_letters, teardown),
        cmocka_unit_test_teardown(properties_become_variables, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
