# The lit suite of cp-mlir.
#
# CP_OPT_CHECK_IR_ROUNDTRIP=1 makes every cp-opt run also print, parse and
# compare its input.

import os
import platform
import shutil
import subprocess

import lit.formats

config.name = "cp-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "goldens", "Package"]
config.test_source_root = os.path.dirname(__file__)

tools = os.pathsep.join([config.cp_tools_dir, config.llvm_tools_dir])
config.environment["PATH"] = os.pathsep.join([tools, os.environ.get("PATH", "")])
# Variables of one test must not leak into the next block of it.
config.environment["FILECHECK_OPTS"] = "--enable-var-scope"
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

roundtrip = os.environ.get("CP_OPT_CHECK_IR_ROUNDTRIP")
config.substitutions.append(
    ("%cp-opt", "cp-opt --verify-roundtrip" if roundtrip else "cp-opt")
)
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%cp_include", config.cp_include_dir))
config.substitutions.append(("%cp_lib", config.cp_lib_dir))
if config.cp_sanitize:
    config.available_features.add("sanitized")
    # UCX writes jumps over functions that move memory, which are the sanitizer's here.
    config.environment["UCX_MEM_EVENTS"] = "no"
sanitize = config.cp_sanitize.replace("fuzzer-no-link,", "")
config.substitutions.append(("%sanitize", f"-fsanitize={sanitize}" if sanitize else ""))
# Who links the project's libraries needs the sanitizers that they were built with.
config.substitutions.append(("%cc", config.cp_cc if sanitize else "cc"))
config.substitutions.append(("%source", config.cp_source_dir))
config.substitutions.append(
    ("%goldens", os.path.join(config.test_source_root, "Integration", "goldens"))
)

# Programs that are kept as files are for this processor at least.
try:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if platform.machine() == "x86_64" and {"avx2", "bmi2", "fma"} <= set(file.read().split()):
            config.available_features.add("x86-64-v3")
except OSError:
    pass

# Transports that were built, each with what starts its jobs: on machines of few
# processors, and as root where a container has no other user.
config.environment.update(
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    OMPI_MCA_rmaps_base_oversubscribe="1",
    # A rank has as many threads as in one process, whatever machine this is.
    OMPI_MCA_hwloc_base_binding_policy="none",
)
launchers = {"openmpi": "mpirun.openmpi", "mpich": "mpirun.mpich", "mpi": "mpirun"}
launchers["ucx"] = os.path.join(
    config.test_source_root, "Integration", "Inputs", "launch.py"
)


def starts(launcher):
    """Whether it starts processes here, which takes more than its being there."""
    try:
        command = [launcher, "-n", "2", "true"]
        environment = {**os.environ, **config.environment}
        return subprocess.run(command, env=environment, timeout=30,
                              capture_output=True).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


for name, launcher in launchers.items():
    library = os.path.join(config.cp_lib_dir, f"libcprt_{name}.so")
    if os.path.exists(library) and starts(launcher):
        config.available_features.add(name)
        config.substitutions.append((f"%{name}", launcher))

# A device that the executor of unittests/Cuda plays, and the assembler of cards.
if os.path.exists(os.path.join(config.cp_lib_dir, "libcprt_emulated.so")):
    config.available_features.add("emulated")
ptxas = shutil.which("ptxas") or shutil.which("ptxas", path="/usr/local/cuda/bin")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
