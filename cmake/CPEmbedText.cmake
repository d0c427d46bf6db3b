# cmake -DOUTPUT=F -DROOT=DIR -DFILES=a|b -P CPEmbedText.cmake: files as entries of
# a C++ array, {name below ROOT, text}.
string(REPLACE "|" ";" files "${FILES}")
set(text "")
foreach(file IN LISTS files)
  file(READ ${file} content)
  string(REGEX REPLACE "^.*/(cp/[^;]*)$" "\\1" name "${file}")
  string(APPEND text "{\"${name}\", R\"cpfile(${content})cpfile\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
