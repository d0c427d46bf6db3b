# Finds MLIR 22. MLIR_DIR may name the folder of another MLIRConfig.cmake; any
# other major version is refused here, because MLIR's C++ API changes with each.

set(CP_MLIR_MAJOR 22)
find_package(MLIR CONFIG QUIET
             HINTS /usr/lib/llvm-${CP_MLIR_MAJOR}/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
    "MLIR ${CP_MLIR_MAJOR} was not found. Run scripts/setup.sh, or point MLIR_DIR "
    "to the folder that holds its MLIRConfig.cmake.\n${MLIR_NOT_FOUND_MESSAGE}")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL CP_MLIR_MAJOR)
  message(FATAL_ERROR
    "cp-mlir needs MLIR ${CP_MLIR_MAJOR}, but ${MLIR_DIR} holds MLIR "
    "${LLVM_PACKAGE_VERSION}. Point MLIR_DIR to an MLIR ${CP_MLIR_MAJOR}.")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
