# How every target of ours is built.

set(CP_WARNINGS -Wall -Wextra -Wno-unused-parameter)

# cp_configure(<target>): warnings, sanitizers, include paths.
function(cp_configure target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_compile_options(${target} PRIVATE ${CP_WARNINGS})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
endfunction()

# Sanitizers hold for every target, so that no report is lost at a library's
# border.
if(CP_SANITIZE)
  add_compile_options(-fsanitize=${CP_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CP_SANITIZE})
endif()

# cp_add_compiler_library(<name> sources...): a library over libMLIR.so. MLIR is
# linked as one shared library, so that every library of a process has the same
# TypeIDs.
function(cp_add_compiler_library name)
  add_library(${name} STATIC ${ARGN})
  cp_configure(${name})
  target_include_directories(${name} SYSTEM PUBLIC
    ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  add_dependencies(${name} CPTableGen)
endfunction()
