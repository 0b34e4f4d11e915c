# Completion of weft for fish: weft VERB; weft run [options] JOB [job options] INPUT...
set -l run '__fish_seen_subcommand_from run'
set -l jobs wordcount count sort grep index

complete -c weft -f
complete -c weft -n __fish_use_subcommand -a run -d 'Run a job, wait, print the answer'
complete -c weft -n __fish_use_subcommand -a help -d 'Explain a verb'
complete -c weft -n __fish_use_subcommand -a version -d 'Print the version'
complete -c weft -n '__fish_seen_subcommand_from help' -a 'run version'

set -l no_job "$run; and not __fish_seen_subcommand_from $jobs"
complete -c weft -n $no_job -a wordcount -d 'Count words'
complete -c weft -n $no_job -a count -d 'Count equal lines'
complete -c weft -n $no_job -a sort -d 'Sort lines'
complete -c weft -n $no_job -a grep -d 'Print matching lines'
complete -c weft -n $no_job -a index -d 'For every word the files it occurs in'
complete -c weft -n $run -F

complete -c weft -n $run -s o -l output -r -F -d 'Where the answer goes: FILE or DIR/'
complete -c weft -n $run -l force -d 'Replace an existing output'
complete -c weft -n $run -l reducers -x -d 'How many parts'
complete -c weft -n $run -l top -x -d 'Only the N largest counts'
complete -c weft -n $run -s n -l slots -x -d 'How many tasks at a time'
complete -c weft -n $run -l memory -x -a '256M 512M 1G 2G 4G' -d 'How much memory the run may take'
complete -c weft -n $run -l tmp -x -a '(__fish_complete_directories)' -d 'Where to spill'
complete -c weft -n $run -l timeout -x -a '30s 1m 10m 1h' -d 'Give up after this time'
complete -c weft -n $run -l task-timeout -x -a '30s 1m 10m 1h' -d 'Stop an attempt after this time'
complete -c weft -n $run -l max-attempts -x -d 'How often to try a task'
complete -c weft -n $run -s q -l quiet -d 'Only errors'
complete -c weft -n $run -s v -l verbose -d 'A longer summary'
complete -c weft -n $run -l json -d 'Progress and summary as JSON lines'
complete -c weft -n $run -l no-color -d 'No colours'
complete -c weft -n $run -s h -l help -d 'Explain'

complete -c weft -n '__fish_seen_subcommand_from wordcount grep' -s i -d 'Upper and lower case alike'
complete -c weft -n '__fish_seen_subcommand_from sort' -s k -x -d 'Sort by these fields'
complete -c weft -n '__fish_seen_subcommand_from sort' -s t -x -d 'Field separator'
complete -c weft -n '__fish_seen_subcommand_from sort' -s r -d 'In reverse'
complete -c weft -n '__fish_seen_subcommand_from sort' -s u -d 'One of equal lines'
complete -c weft -n '__fish_seen_subcommand_from grep' -s c -d 'Only how many'
complete -c weft -n '__fish_seen_subcommand_from grep' -s F -d 'A plain text'
