# SPDX-License-Identifier: Apache-2.0
# Run by cmake --install, with: program, pages (a directory to write to), manual_directory, data_directory.

# write(FOLDER NAME ARGUMENT...): what the program prints for these arguments, installed as FOLDER/NAME.
function(write folder name)
  execute_process(COMMAND "${program}" ${ARGN} OUTPUT_FILE "${pages}/${name}" COMMAND_ERROR_IS_FATAL ANY)
  file(INSTALL "${pages}/${name}" DESTINATION "${CMAKE_INSTALL_PREFIX}/${folder}")
endfunction()

file(MAKE_DIRECTORY "${pages}")
execute_process(COMMAND "${program}" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\n  [a-z]+" commands "${help}")
write(${manual_directory} longshore.1 man)
foreach(command IN LISTS commands ITEMS init wait)
  string(STRIP "${command}" command)
  write(${manual_directory} longshore-${command}.1 man ${command})
endforeach()
foreach(name IN ITEMS longshore longshore-init longshore-wait)
  write(${data_directory}/bash-completion/completions ${name} completion bash ${name})
  write(${data_directory}/zsh/site-functions _${name} completion zsh ${name})
  write(${data_directory}/fish/vendor_completions.d ${name}.fish completion fish ${name})
endforeach()
