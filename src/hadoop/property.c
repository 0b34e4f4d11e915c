// The lists of properties. A name that begins like one of Hadoop's and is in no list is refused: it
// may change the result in a way that Weft does not know.

#include "hadoop/property.h"

#include <stdlib.h>
#include <strings.h>

// Most scripts were written for the names of Hadoop 1.
static const struct {
    const char *older, *newer;
} renamed[] = {
#define RENAMED(older, newer) {older, newer},
#include "hadoop/renamed.def"
#undef RENAMED
};

// Properties that Hadoop itself sets for a job and its tasks, over any given value.
static const char *const set_by_framework[] = {
    "mapreduce.job.id",
    "mapreduce.job.dir",
    "mapreduce.job.local.dir",
    "mapreduce.job.user.name",
    "mapreduce.job.submithostname",
    "mapreduce.job.submithostaddress",
    "mapreduce.job.output.key.class",
    "mapreduce.job.output.value.class",
    "mapreduce.map.output.key.class",
    "mapreduce.map.output.value.class",
    "mapreduce.map.input.file",
    "mapreduce.map.input.start",
    "mapreduce.map.input.length",
    "mapreduce.task.id",
    "mapreduce.task.attempt.id",
    "mapreduce.task.ismap",
    "mapreduce.task.partition",
    "mapreduce.task.output.dir",
    "mapreduce.input.fileinputformat.numinputfiles",
    "mapreduce.client.genericoptionsparser.used",
};

// Properties that settings.c reads.
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

// Beginnings of names that set how, where and for which user a job runs, and do not change its
// result. A number of map tasks is only a hint, which Hadoop on one machine ignores. The timeout of
// a silent task does not change the output.
static const char *const harmless[] = {
    "mapreduce.job.maps",
    "mapreduce.job.name",
    "mapreduce.job.queuename",
    "mapreduce.job.priority",
    "mapreduce.job.user.",
    "mapreduce.job.tags",
    "mapreduce.job.acl",
    "mapreduce.job.am.",
    "mapreduce.job.counters.",
    "mapreduce.job.jvm.",
    "mapreduce.job.jar",
    "mapreduce.job.classloader",
    "mapreduce.job.classpath.",
    "mapreduce.job.cache.limit.",
    "mapreduce.job.complete.",
    "mapreduce.job.dfs.",
    "mapreduce.job.emit-timeline-data",
    "mapreduce.job.encrypted-intermediate-data",
    "mapreduce.job.finish-when-all-reducers-done",
    "mapreduce.job.local-fs.",
    "mapreduce.job.map.output.collector.class",
    "mapreduce.job.max.map",
    "mapreduce.job.node-label-expression",
    "mapreduce.job.reducer.",
    "mapreduce.job.send-token-conf",
    "mapreduce.job.sharedcache.",
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
    "mapreduce.map.combine.minspills",
    "mapreduce.map.cpu.",
    "mapreduce.map.debug.",
    "mapreduce.map.java.opts",
    "mapreduce.map.node-label-expression",
    "mapreduce.map.speculative",
    "mapreduce.map.sort.",
    "mapreduce.map.output.compress",
    "mapreduce.map.log.",
    "mapreduce.map.resource.",
    "mapreduce.reduce.memory.",
    "mapreduce.reduce.cpu.",
    "mapreduce.reduce.debug.",
    "mapreduce.reduce.java.opts",
    "mapreduce.reduce.node-label-expression",
    "mapreduce.reduce.speculative",
    "mapreduce.reduce.shuffle.",
    "mapreduce.reduce.merge.",
    "mapreduce.reduce.input.buffer.",
    "mapreduce.reduce.markreset.",
    "mapreduce.reduce.log.",
    "mapreduce.reduce.resource.",
    "mapreduce.task.debugout.",
    "mapreduce.task.exit.",
    "mapreduce.task.files.preserve.",
    "mapreduce.task.io.",
    "mapreduce.task.local-fs.",
    "mapreduce.task.ping-for-liveliness-check.",
    "mapreduce.task.spill.",
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
    "mapreduce.outputcommitter.",
    "mapreduce.framework.name",
    "mapreduce.cluster.",
    "mapreduce.client.",
    "mapreduce.jobtracker.",
    "mapreduce.tasktracker.",
    "mapreduce.jobhistory.",
    "mapreduce.jvm.",
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
    "mapred.job.tracker.",
    "mapred.tasktracker.",
    "mapred.userlog.",
    "mapred.jobtracker.",
    "mapred.fairscheduler.",
    "stream.minRecWrittenToEnableSkip_",  // how much a command must write before it may leave its input unread
    "stream.tmpdir",
    "stream.joindelay.",
    "stream.jobconf.truncate.limit",
    "stream.shipped.hadoopstreaming",
    // Of classes that no streaming job uses, or that are refused where they are named.
    "mapreduce.fieldsel.",
    "mapreduce.input.multipleinputs.",
    "mapreduce.input.sequencefileinputfilter.",
    "mapreduce.jobcontrol.",
    "mapreduce.join.",
    "mapreduce.mapper.regex",
    "mapreduce.output.seqbinaryoutputformat.",
    "mapreduce.partition.binarypartitioner.",
    "mapreduce.pipes.",
};

// All other names with these beginnings are Hadoop's, too.
static const char *const hadoops[] = {
    "mapreduce.", "mapred.", "stream.", "textinputformat.", "mapred-", "key.value.", "num.key.",
};

#define SKIP_ADVICE "leave it out; --skip-bad N leaves out records that make a command fail"

static const struct {
    const char *beginning, *advice;
} advices[] = {
    {"mapreduce.input.fileinputformat.inputdir", "name inputs with -input"},
    {"mapreduce.output.fileoutputformat.outputdir", "name the output with -output"},
    {"mapreduce.map.env", "give variables to the commands with -cmdenv NAME=VALUE"},
    {"mapreduce.reduce.env", "give variables to the commands with -cmdenv NAME=VALUE"},
    {"mapred.child.env", "give variables to the commands with -cmdenv NAME=VALUE"},
    {"mapreduce.map.skip.", SKIP_ADVICE},
    {"mapreduce.reduce.skip.", SKIP_ADVICE},
    {"mapreduce.task.skip.", SKIP_ADVICE},
    {"mapreduce.job.skip", SKIP_ADVICE},
    {"mapreduce.job.cache.archives", "ship archives with -archives FILE#NAME"},
    {"mapreduce.job.cache.", "ship files with -files FILE#NAME"},
    {"mapreduce.job.working.dir", "cd DIR, and run weft there"},
    {"mapreduce.job.map.class", "name a command with -mapper"},
    {"mapreduce.job.reduce.class", "name a command with -reducer"},
    {"mapreduce.job.partitioner.class", "name the class with -partitioner"},
    {"mapreduce.job.inputformat.class", "name the format with -inputformat"},
    {"mapreduce.job.outputformat.class", "name the format with -outputformat"},
    {"mapreduce.output.lazyoutputformat.", "-lazyOutput"},
    {"mapreduce.input.pathFilter.class", "name the files that are wanted with -input"},
    {"mapreduce.input.linerecordreader.line.maxlength", "leave out long lines in the mapper"},
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
    for (size_t i = 0; i < sizeof set_by_framework / sizeof *set_by_framework; i++)
        if (strcmp(set_by_framework[i], name) == 0)
            return PROPERTY_FRAMEWORK;
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
