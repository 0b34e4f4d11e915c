// The lists of properties. A name that begins like one of Hadoop's and is in no list is refused: it may
// change the result, and nobody knows how.

#include "lang/streaming_property.h"

#include <stdlib.h>
#include <strings.h>

// The names of Hadoop 1, which most scripts were written for.
static const struct {
    const char *older, *newer;
} renamed[] = {
    {"mapred.reduce.tasks", "mapreduce.job.reduces"},
    {"mapred.map.tasks", "mapreduce.job.maps"},
    {"mapred.job.name", "mapreduce.job.name"},
    {"mapred.min.split.size", "mapreduce.input.fileinputformat.split.minsize"},
    {"mapred.max.split.size", "mapreduce.input.fileinputformat.split.maxsize"},
    {"mapred.input.dir.recursive", "mapreduce.input.fileinputformat.input.dir.recursive"},
    {"mapred.input.dir", "mapreduce.input.fileinputformat.inputdir"},
    {"mapred.output.dir", "mapreduce.output.fileoutputformat.outputdir"},
    {"mapred.textoutputformat.separator", "mapreduce.output.textoutputformat.separator"},
    {"map.output.key.field.separator", "mapreduce.map.output.key.field.separator"},
    {"mapred.text.key.partitioner.options", "mapreduce.partition.keypartitioner.options"},
    {"mapred.text.key.comparator.options", "mapreduce.partition.keycomparator.options"},
    {"mapred.output.key.comparator.class", "mapreduce.job.output.key.comparator.class"},
    {"mapred.line.input.format.linespermap", "mapreduce.input.lineinputformat.linespermap"},
    {"key.value.separator.in.input.line",
     "mapreduce.input.keyvaluelinerecordreader.key.value.separator"},
    {"mapred.output.compress", "mapreduce.output.fileoutputformat.compress"},
    {"mapred.output.compression.codec", "mapreduce.output.fileoutputformat.compress.codec"},
    {"mapred.output.compression.type", "mapreduce.output.fileoutputformat.compress.type"},
    {"mapred.map.max.attempts", "mapreduce.map.maxattempts"},
    {"mapred.reduce.max.attempts", "mapreduce.reduce.maxattempts"},
    {"mapred.max.map.failures.percent", "mapreduce.map.failures.maxpercent"},
    {"mapred.max.reduce.failures.percent", "mapreduce.reduce.failures.maxpercent"},
    {"mapred.output.value.groupfn.class", "mapreduce.job.output.group.comparator.class"},
    {"mapred.task.timeout", "mapreduce.task.timeout"},
    {"mapred.job.queue.name", "mapreduce.job.queuename"},
    {"mapred.job.priority", "mapreduce.job.priority"},
    {"mapred.compress.map.output", "mapreduce.map.output.compress"},
    {"mapred.map.output.compression.codec", "mapreduce.map.output.compress.codec"},
    {"mapred.map.tasks.speculative.execution", "mapreduce.map.speculative"},
    {"mapred.reduce.tasks.speculative.execution", "mapreduce.reduce.speculative"},
    {"mapred.reduce.slowstart.completed.maps", "mapreduce.job.reduce.slowstart.completedmaps"},
    {"mapred.map.child.java.opts", "mapreduce.map.java.opts"},
    {"mapred.reduce.child.java.opts", "mapreduce.reduce.java.opts"},
    {"mapred.job.map.memory.mb", "mapreduce.map.memory.mb"},
    {"mapred.job.reduce.memory.mb", "mapreduce.reduce.memory.mb"},
    {"io.sort.mb", "mapreduce.task.io.sort.mb"},
    {"io.sort.factor", "mapreduce.task.io.sort.factor"},
    {"fs.default.name", "fs.defaultFS"},
};

// What streaming_settings.c reads.
static const char *const known[] = {
    "mapreduce.job.reduces",
    "mapreduce.input.fileinputformat.split.minsize",
    "mapreduce.input.fileinputformat.input.dir.recursive",
    "fs.local.block.size",
    "stream.map.input",
    "stream.map.output",
    "stream.reduce.input",
    "stream.reduce.output",
    "stream.map.input.ignoreKey",
    "stream.map.input.field.separator",
    "stream.map.output.field.separator",
    "stream.num.map.output.key.fields",
    "stream.reduce.input.field.separator",
    "stream.reduce.output.field.separator",
    "stream.num.reduce.output.key.fields",
    "stream.non.zero.exit.is.failure",
    "stream.stderr.reporter.prefix",
    "mapreduce.output.textoutputformat.separator",
    "mapreduce.map.output.key.field.separator",
    "mapreduce.partition.keypartitioner.options",
    "num.key.fields.for.partition",
    "mapred.partitioner.class",
    "mapreduce.partition.keycomparator.options",
    "mapreduce.job.output.key.comparator.class",
    "mapreduce.input.lineinputformat.linespermap",
    "mapreduce.input.keyvaluelinerecordreader.key.value.separator",
    "textinputformat.record.delimiter",
    "mapreduce.output.fileoutputformat.compress",
    "mapreduce.output.fileoutputformat.compress.codec",
    "mapreduce.map.maxattempts",
    "mapreduce.reduce.maxattempts",
    "mapreduce.map.failures.maxpercent",
    "mapreduce.reduce.failures.maxpercent",
    "fs.defaultFS",
};

// Beginnings of names that say how, where and for whom a job runs, not what it computes. A number of map
// tasks is a wish that Hadoop on one machine does not heed; the time after which a silent task is given up
// has no bytes of its own.
static const char *const harmless[] = {
    "mapreduce.job.maps",
    "mapreduce.job.name",
    "mapreduce.job.queuename",
    "mapreduce.job.priority",
    "mapreduce.job.user.",
    "mapreduce.job.tags",
    "mapreduce.job.acl",
    "mapreduce.job.counters.",
    "mapreduce.job.jvm.",
    "mapreduce.job.jar",
    "mapreduce.job.classloader",
    "mapreduce.job.speculative.",
    "mapreduce.job.reduce.slowstart.",
    "mapreduce.job.reduce.shuffle.",
    "mapreduce.job.ubertask.",
    "mapreduce.job.end-notification.",
    "mapreduce.job.running.",
    "mapreduce.job.heap.",
    "mapreduce.job.max.split.locations",
    "mapreduce.job.split.metainfo.",
    "mapreduce.job.committer.",
    "mapreduce.job.userlog.",
    "mapreduce.job.log4j",
    "mapreduce.job.hdfs-servers",
    "mapreduce.job.token.",
    "mapreduce.job.redacted-properties",
    "mapreduce.job.maxtaskfailures.",
    "mapreduce.map.memory.",
    "mapreduce.map.cpu.",
    "mapreduce.map.java.opts",
    "mapreduce.map.speculative",
    "mapreduce.map.sort.",
    "mapreduce.map.output.compress",
    "mapreduce.map.log.",
    "mapreduce.map.resource.",
    "mapreduce.reduce.memory.",
    "mapreduce.reduce.cpu.",
    "mapreduce.reduce.java.opts",
    "mapreduce.reduce.speculative",
    "mapreduce.reduce.shuffle.",
    "mapreduce.reduce.merge.",
    "mapreduce.reduce.input.buffer.",
    "mapreduce.reduce.markreset.",
    "mapreduce.reduce.log.",
    "mapreduce.reduce.resource.",
    "mapreduce.task.io.",
    "mapreduce.task.timeout",
    "mapreduce.task.profile",
    "mapreduce.task.userlog.",
    "mapreduce.task.merge.",
    "mapreduce.task.combine.",
    "mapreduce.task.stuck.",
    "mapreduce.input.fileinputformat.split.maxsize",
    "mapreduce.input.fileinputformat.split.minsize.per.",
    "mapreduce.input.fileinputformat.list-status.",
    "mapreduce.output.fileoutputformat.compress.type",
    "mapreduce.fileoutputcommitter.",
    "mapreduce.framework.name",
    "mapreduce.cluster.",
    "mapreduce.client.",
    "mapreduce.jobtracker.",
    "mapreduce.tasktracker.",
    "mapreduce.jobhistory.",
    "mapreduce.shuffle.",
    "mapreduce.am.",
    "mapreduce.admin.",
    "mapreduce.application.",
    "mapreduce.app-submission.",
    "mapreduce.ifile.",
    "mapreduce.local.",
    "mapred.child.java.opts",
    "mapred.child.ulimit",
    "mapred.cluster.",
    "mapred.job.tracker",
    "mapred.job.reuse.jvm.",
    "mapred.job.shuffle.",
    "mapred.inmem.merge.",
    "mapred.local.dir",
    "mapred.system.dir",
    "mapred.temp.dir",
    "mapred.tasktracker.",
    "mapred.userlog.",
    "mapred.task.profile",
    "mapred.jobtracker.",
    "mapred.fairscheduler.",
    "mapred.acls.",
    "stream.minRecWrittenToEnableSkip_",  // how much a command must write to leave its input unread
    "stream.tmpdir",
    "stream.joindelay.",
    "stream.jobconf.truncate.limit",
    "stream.shipped.hadoopstreaming",
};

// Whatever else begins so is Hadoop's, too.
static const char *const hadoops[] = {
    "mapreduce.", "mapred.", "stream.", "textinputformat.", "mapred-", "key.value.", "num.key.",
};

static const struct {
    const char *beginning, *advice;
} advices[] = {
    {"mapreduce.input.fileinputformat.inputdir", "name inputs with -input"},
    {"mapreduce.output.fileoutputformat.outputdir", "name the output with -output"},
    {"mapreduce.map.env", "give variables to the commands with -cmdenv NAME=VALUE"},
    {"mapreduce.reduce.env", "give variables to the commands with -cmdenv NAME=VALUE"},
    {"mapred.child.env", "give variables to the commands with -cmdenv NAME=VALUE"},
    {"mapreduce.map.skip.", "weft run has --skip-bad"},
    {"mapreduce.reduce.skip.", "weft run has --skip-bad"},
    {"mapred.skip.", "weft run has --skip-bad"},
    {"mapreduce.job.output.group.comparator.class",
     "a reducer that is a command sees every key and can group by itself"},
    {"mapreduce.job.combine.class", "name a command with -combiner"},
    {"mapred.mapper.class", "name a command with -mapper"},
    {"mapred.reducer.class", "name a command with -reducer"},
    {"mapred.input.format.class", "name the format with -inputformat"},
    {"mapred.output.format.class", "name the format with -outputformat"},
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

const char *property_newer_name(const char *name)
{
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(renamed[i].older, name) == 0)
            return renamed[i].newer;
    return name;
}

enum property_kind property_kind_of(const char *name)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], name) == 0)
            return PROPERTY_KNOWN;
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        if (begins_with(name, harmless[i]))
            return PROPERTY_HARMLESS;
    for (size_t i = 0; i < sizeof hadoops / sizeof *hadoops; i++)
        if (begins_with(name, hadoops[i]))
            return PROPERTY_REFUSED;
    return PROPERTY_OWN;
}

const char *property_advice(const char *name)
{
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
        if (begins_with(name, advices[i].beginning))
            return advices[i].advice;
    return NULL;
}

bool property_read_bool(const char *text, bool *value)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    const bool is_true = length == 4 && strncasecmp(text, "true", 4) == 0;
    const bool is_false = length == 5 && strncasecmp(text, "false", 5) == 0;
    if (is_true || is_false)
        *value = is_true;
    return is_true || is_false;
}

bool property_read_number(const char *text, uint64_t max, uint64_t *value)
{
    uint64_t number = 0;
    size_t digits = 0;
    for (; *text >= '0' && *text <= '9'; text++, digits++) {
        const uint64_t digit = (uint64_t)(*text - '0');
        if (digit > max || number > (max - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    if (digits == 0 || *text != 0)
        return false;
    *value = number;
    return true;
}
