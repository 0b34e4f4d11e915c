# Length of files and functions, tabs, trailing blanks. Called by tools/check_style with the list
# of exceptions first, then the C files.

function complain(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    failed = 1
}

function end_of_file()
{
    if (file && lines > file_lines_max && !(file in allowed)) {
        printf "%s: %d lines, at most %d: split it\n", file, lines, file_lines_max
        failed = 1
    }
}

# The exceptions: "FILE" or "FILE FUNCTION", comments start with #.
FILENAME == ARGV[1] {
    sub(/#.*/, "")
    if (NF)
        allowed[$1 (NF > 1 ? " " $2 : "")] = 1
    next
}

FNR == 1 {
    end_of_file()
    file = FILENAME
    body = 0
    name = ""
}
{ lines = FNR }

/\t/ { complain("tab") }
/[ \r]$/ { complain("trailing blank") }

# A function is what stands between braces in column 0 after a line that starts with its head.
# Types and tables have theirs at the end of a line.
/^[A-Za-z_].*\(/ && !/;[ ]*$/ {
    name = $0
    sub(/\(.*/, "", name)
    sub(/.*[ *]/, "", name)
}
/^\{/ && name { body = FNR }
/^\}/ && body {
    if (FNR - body - 1 > function_lines_max && !(FILENAME " " name in allowed))
        complain(sprintf("%s has %d lines, at most %d: give its parts names", name,
                         FNR - body - 1, function_lines_max))
    body = 0
    name = ""
}

END {
    end_of_file()
    exit failed
}
