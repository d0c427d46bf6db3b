# How every target of ours is built and exported.

set(CP_WARNINGS -Wall -Wextra -Wno-unused-parameter)

# cp_export(<target>...): into the package that find_package(CP) finds.
function(cp_export)
  install(TARGETS ${ARGN} EXPORT CPTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# cp_export_runtime(<target>...): into its component `runtime`, which needs no
# MLIR.
function(cp_export_runtime)
  install(TARGETS ${ARGN} EXPORT CPRuntimeTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
endfunction()

# cp_tblgen(<target> <output> <generator>): what cp-tblgen makes of the table of
# the runtime's operations, next to the target's other outputs.
function(cp_tblgen target output generator)
  set(LLVM_TARGET_DEFINITIONS
    ${PROJECT_SOURCE_DIR}/include/cp/Runtime/Operations.td)
  set(CP_TABLEGEN_EXE cp-tblgen)
  set(CP_TABLEGEN_TARGET cp-tblgen)
  tablegen(CP ${output} ${generator}
    EXTRA_INCLUDES ${PROJECT_SOURCE_DIR}/include)
  add_custom_target(${target}TableGen DEPENDS ${output})
  add_dependencies(${target} ${target}TableGen)
  target_include_directories(${target}
    PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()

# cp_link_from_c(<target>): a program in C that links this target takes the C++
# standard library along, which a C compiler's linker does not by itself.
function(cp_link_from_c target)
  set(libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
  list(FILTER libraries INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|c\\+\\+abi|m)$")
  list(REMOVE_DUPLICATES libraries)
  foreach(library IN LISTS libraries)
    target_link_libraries(${target} INTERFACE $<$<LINK_LANGUAGE:C>:${library}>)
  endforeach()
endfunction()

# cp_configure(<target>): warnings, include paths.
function(cp_configure target)
  target_compile_features(${target} PUBLIC cxx_std_17)
  target_compile_options(${target} PRIVATE ${CP_WARNINGS})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endfunction()

# Sanitizers hold for every target, so that no report is lost at a library's
# border.
if(CP_SANITIZE)
  add_compile_options(-fsanitize=${CP_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CP_SANITIZE})
  # Most of a file is upstream's and the library's templates, whose checks cost more
  # time than those of our code.
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    add_compile_options(
      -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitizers.txt)
  endif()
  # Kernels and tests are in no fuzz target, and count their branches in loops that
  # other tests wait for.
  if(CP_SANITIZE MATCHES fuzzer)
    add_compile_options(
      -fsanitize-coverage-ignorelist=${PROJECT_SOURCE_DIR}/cmake/coverage.txt)
  endif()
  # Of C's enumerations callers may give any number.
  if(CP_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize=enum)
  endif()
endif()

# What most files of the compiler read of upstream, parsed once. The fuzz preset
# builds without it: there a missing include shows.
set(CP_UPSTREAM_HEADERS
  "<mlir/Dialect/Arith/IR/Arith.h>"
  "<mlir/Dialect/Bufferization/IR/Bufferization.h>"
  "<mlir/Dialect/Func/IR/FuncOps.h>"
  "<mlir/Dialect/Linalg/IR/Linalg.h>"
  "<mlir/Dialect/Tensor/IR/Tensor.h>"
  "<mlir/IR/PatternMatch.h>"
  "<mlir/Pass/Pass.h>")

# cp_precompile_headers(<target>): the first target makes them, others take them,
# programs too: as code of a library, as which they are made.
function(cp_precompile_headers target)
  if(NOT CP_PRECOMPILE_HEADERS)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  get_property(first GLOBAL PROPERTY CP_PRECOMPILED_BY)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    set_property(GLOBAL PROPERTY CP_PRECOMPILED_BY ${target})
    target_precompile_headers(${target} PRIVATE ${CP_UPSTREAM_HEADERS})
  endif()
endfunction()

# cp_precompile_test_headers(<target>): what a test without MLIR is mostly made of.
function(cp_precompile_test_headers target)
  if(NOT CP_PRECOMPILE_HEADERS)
    return()
  endif()
  set(headers gtest/gtest.h algorithm cmath functional random string thread vector)
  list(TRANSFORM headers
    REPLACE "(.+)" "$<$<COMPILE_LANGUAGE:CXX>:<\\1$<ANGLE-R>>")
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# cp_unite(<target>): with CP_UNITY its files are compiled six by six.
function(cp_unite target)
  if(CP_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON
      UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()

# cp_add_compiler_library(<name> sources...): a library over libMLIR.so. MLIR is
# linked as one shared library, so that every library of a process has the same
# TypeIDs. Where its headers are, the package finds out anew.
function(cp_add_compiler_library name)
  add_library(${name} STATIC ${ARGN})
  cp_configure(${name})
  target_include_directories(${name} SYSTEM PUBLIC
    "$<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>"
    "$<BUILD_INTERFACE:${MLIR_INCLUDE_DIRS}>")
  target_link_libraries(${name} PUBLIC MLIR LLVM)
  add_dependencies(${name} CPTableGen)
  cp_precompile_headers(${name})
  cp_unite(${name})
  cp_export(${name})
endfunction()

# cp_compile_alone(<file>...): also with CP_UNITY, since these have names that
# others have too, or take long by themselves.
function(cp_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# The archives alone: their targets bring compressors and a solver along.
set(CP_LLVM_SUPPORT "$<TARGET_FILE:LLVMTargetParser>"
  "$<TARGET_FILE:LLVMSupport>" "$<TARGET_FILE:LLVMDemangle>")

# cp_add_support_library(<name> sources...): a library that takes of LLVM its
# support library alone. Programs with MLIR have that in libLLVM.so; those with the
# property CP_STATIC_SUPPORT take a copy, and need no LLVM where they run.
function(cp_add_support_library name)
  add_library(${name} STATIC ${ARGN})
  cp_configure(${name})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${name} SYSTEM PUBLIC
    "$<BUILD_INTERFACE:${LLVM_INCLUDE_DIRS}>")
  target_link_libraries(${name} PUBLIC
    "$<IF:$<BOOL:$<TARGET_PROPERTY:CP_STATIC_SUPPORT>>,${CP_LLVM_SUPPORT},LLVM>")
  cp_export(${name})
endfunction()

# cp_add_tool(<name> LINK libraries... SOURCES sources...)
function(cp_add_tool name)
  cmake_parse_arguments(tool "" "" "LINK;SOURCES" ${ARGN})
  add_executable(${name} ${tool_SOURCES})
  cp_configure(${name})
  cp_precompile_headers(${name})
  target_link_libraries(${name} PRIVATE ${tool_LINK})
  cp_export(${name})
endfunction()

# cp_add_card_program(<target>): a program that runs on a card, on a machine where
# nothing else of ours is: with the C++ library inside.
function(cp_add_card_program target)
  target_compile_options(${target} PRIVATE ${CP_WARNINGS} -O2)
  target_link_libraries(${target} PRIVATE CPKernelsCUDA)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  if(NOT TARGET cp-card)
    add_custom_target(cp-card)
  endif()
  add_dependencies(cp-card ${target})
endfunction()
