# Completion of weft for fish: weft VERB; weft run [options] JOB [job options] INPUT...
set -l run '__fish_seen_subcommand_from run'
set -l jobs wordcount count sort grep index

complete -c weft -f
complete -c weft -n __fish_use_subcommand -a run -d 'Run a job, wait, print the answer'
complete -c weft -n __fish_use_subcommand -a streaming -d 'Run a Hadoop Streaming job by its own options'
complete -c weft -n __fish_use_subcommand -a replay -d 'Run just the record that a job failed on'
complete -c weft -n __fish_use_subcommand -a cluster -d 'Run or describe a cluster of programs'
complete -c weft -n __fish_use_subcommand -a help -d 'Explain a verb'
complete -c weft -n __fish_use_subcommand -a version -d 'Print the version'
complete -c weft -n '__fish_seen_subcommand_from help' -a 'run streaming replay cluster version'

set -l no_job "$run; and not __fish_seen_subcommand_from $jobs"
complete -c weft -n $no_job -a wordcount -d 'Count words'
complete -c weft -n $no_job -a count -d 'Count equal lines'
complete -c weft -n $no_job -a sort -d 'Sort lines'
complete -c weft -n $no_job -a grep -d 'Print matching lines'
complete -c weft -n $no_job -a index -d 'For every word the files it occurs in'
complete -c weft -n $run -F

complete -c weft -n $run -l format -x -a 'lines chunks files csv csv:header jsonl tfrecord' -d 'How inputs are cut into records'
complete -c weft -n $run -l delimiter -x -d 'Records end with this byte'
complete -c weft -n $run -s 0 -l null -d 'Records end with a zero byte'
complete -c weft -n $run -l lines-per-task -x -d 'Give every map task so many lines'
complete -c weft -n $run -l map -r -F -d 'Map with a command'
complete -c weft -n $run -l combine -r -F -d 'Combine with a command'
complete -c weft -n $run -l reduce -r -F -d 'Reduce with a command'
complete -c weft -n $run -l shell -d 'Run the commands by sh -c'
complete -c weft -n $run -l keep -d 'Keep a command alive from task to task'
complete -c weft -n $run -l separator -x -d 'Between the fields of a line'
complete -c weft -n $run -l key-fields -x -d 'How many fields are the key'
complete -c weft -n $run -l sort-fields -x -d 'Order of keys'
complete -c weft -n $run -l partition-fields -x -d 'Fields that choose the part'
complete -c weft -n $run -s o -l output -r -F -d 'Where the answer goes: FILE or DIR/'
complete -c weft -n $run -l force -d 'Replace an existing output'
complete -c weft -n $run -l reducers -x -d 'How many parts'
complete -c weft -n $run -l top -x -d 'Only the N largest counts'
complete -c weft -n $run -l output-format -x -a 'text csv jsonl tfrecord' -d 'Write records as'
complete -c weft -n $run -l compress -x -a 'zstd gzip lz4' -d 'Compress the output'
complete -c weft -n $run -s n -l slots -x -d 'How many tasks at a time'
complete -c weft -n $run -l memory -x -a '256M 512M 1G 2G 4G' -d 'How much memory the run may take'
complete -c weft -n $run -l tmp -x -a '(__fish_complete_directories)' -d 'Where to spill'
complete -c weft -n $run -l timeout -x -a '30s 1m 10m 1h' -d 'Give up after this time'
complete -c weft -n $run -l task-timeout -x -a '30s 1m 10m 1h' -d 'Stop an attempt after this time'
complete -c weft -n $run -l max-attempts -x -d 'How often to try a task'
complete -c weft -n $run -l record-timeout -x -a '30s 1m 10m 1h' -d 'Stop an attempt that stays at one record'
complete -c weft -n $run -l skip-bad -x -a '1 10 0.1% 1%' -d 'Leave out so many bad records'
complete -c weft -n $run -l bad-records -r -F -d 'Where to list them'
complete -c weft -n $run -l dry-run -d 'Only print the plan'
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

set -l streaming '__fish_seen_subcommand_from streaming'
complete -c weft -n $streaming -F
for option in input output mapper combiner reducer files file
    complete -c weft -n $streaming -o $option -r -F
end
for option in numReduceTasks cmdenv D partitioner inputformat
    complete -c weft -n $streaming -o $option -x
end
complete -c weft -n $streaming -o lazyOutput
complete -c weft -n $streaming -o help

set -l cluster '__fish_seen_subcommand_from cluster'
set -l no_verb "$cluster; and not __fish_seen_subcommand_from run up status down config"
complete -c weft -n $no_verb -a run -d 'Start all members here and wait for them'
complete -c weft -n $no_verb -a up -d 'The same in the background'
complete -c weft -n $no_verb -a status -d 'How members in the background are'
complete -c weft -n $no_verb -a down -d 'End a cluster in the background'
complete -c weft -n $no_verb -a config -d 'Write a file for every member'
set -l cluster_run "$cluster; and __fish_seen_subcommand_from run up"
set -l only_run "$cluster; and __fish_seen_subcommand_from run"
set -l only_up "$cluster; and __fish_seen_subcommand_from up"
complete -c weft -n $cluster_run -F
complete -c weft -n $cluster_run -l role -x -d 'A role and how many members it has'
complete -c weft -n $only_up -l name -x -d 'What the cluster is called'
complete -c weft -n $cluster_run -l cluster -r -F -d 'A cluster file'
complete -c weft -n $cluster_run -l restart -x -d 'How often a member that fails is started again'
complete -c weft -n $cluster_run -l journal -x -a '(__fish_complete_directories)' -d 'Where journals are kept'
complete -c weft -n $cluster_run -l tmp -x -a '(__fish_complete_directories)' -d 'Where others are made'
complete -c weft -n $cluster_run -l timeout -x -d 'Stop after that time'
complete -c weft -n $cluster_run -l grace -x -d 'How long members may take to end'
complete -c weft -n $cluster_run -l keep-going -d 'Do not stop the others when a member fails'
complete -c weft -n $cluster_run -l until -x -d 'Stop when that role has ended'
complete -c weft -n $only_run -l stdin -x -d 'Who reads standard input'
complete -c weft -n $cluster_run -l cd -x -a '(__fish_complete_directories)' -d 'Where the program runs'
complete -c weft -n $only_run -l no-prefix -d 'Lines as they are'
complete -c weft -n $only_run -l no-color -d 'No colours'
complete -c weft -n $only_run -l json -d 'Objects on standard error'
complete -c weft -n $cluster_run -s q -l quiet -d 'Only errors'
complete -c weft -n $cluster_run -s v -l verbose -d 'Also every start and end'
complete -c weft -n $cluster_run -s h -l help -d 'Explain'
set -l background "$cluster; and __fish_seen_subcommand_from status down"
complete -c weft -n $background -x -a '(ls $HOME/.local/state/weft/clusters 2>/dev/null)'
complete -c weft -n "$cluster; and __fish_seen_subcommand_from status" -l json -d 'An object per cluster'
complete -c weft -n "$cluster; and __fish_seen_subcommand_from down" -s q -l quiet -d 'Only errors'
complete -c weft -n $background -s h -l help -d 'Explain'
set -l config "$cluster; and __fish_seen_subcommand_from config"
complete -c weft -n $config -F
complete -c weft -n $config -s d -l directory -x -a '(__fish_complete_directories)' -d 'Where the files go'
complete -c weft -n $config -l format -x -a 'sh json env' -d 'What the files are'
complete -c weft -n $config -l role -x -d 'A role and how many members it has'
complete -c weft -n $config -l force -d 'Replace other files'
complete -c weft -n $config -l gpu -d 'Let the members see GPUs'
complete -c weft -n $config -s q -l quiet -d 'Only errors'
complete -c weft -n $config -s h -l help -d 'Explain'
