"""Compiles the C++ block of a page, as the body of a function, against the headers
of the kernels; what the page leaves open is declared around it.

usage: compile_example.py PAGE SOURCE_FOLDER
"""

import os
import re
import subprocess
import sys

page, source = sys.argv[1:]
block = re.search(r"```c\+\+\n(.*?)```", open(page).read(), re.S).group(1)
includes = "".join(line + "\n" for line in block.splitlines() if line.startswith("#include"))
body = "".join(line + "\n" for line in block.splitlines() if not line.startswith("#include"))
names = ["x", "dt", "aLog", "B", "C", "D", "dtBias", "initialState", "places", "y", "finalState"]
program = f"""{includes}#include <cmath>
#include <cstring>
static int64_t bits(double value) {{
  int64_t result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}}
static int fail(const char *message) {{ return message != nullptr; }}
int example({", ".join(f"const cp::kernels::Buffer &{name}" for name in names)}, void *stream) {{
{body}return 0;
}}
"""
subprocess.run(
    [os.environ.get("CXX", "c++"), "-std=c++17", "-Wall", "-Werror", "-fsyntax-only", "-xc++", "-"]
    + [f"-I{source}/kernels/{room}" for room in ("cuda", "cpu")],
    input=program,
    text=True,
    check=True,
)
