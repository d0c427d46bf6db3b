"""Prints a module with every elementwise op of arith and math on tensors.

usage: elementwise.py f32|f64|bf16|i32|i64

Each op is a result of its own, on rows of a cut sequence.
"""

import sys

# Of x and y, which are above -1 and below 1 mostly: u is between 0 and 1, v from 1
# on.
UNARY = {
    "x": "arith.negf math.absf math.asinh math.atan math.cbrt math.ceil math.cos "
         "math.cosh math.erf math.erfc math.exp math.exp2 math.expm1 math.floor "
         "math.round math.roundeven math.sin math.sinh math.tan math.tanh math.trunc",
    "u": "math.acos math.asin math.atanh math.log1p math.sqrt",
    "v": "math.acosh math.log math.log10 math.log2 math.rsqrt",
}
BINARY = ("arith.addf arith.subf arith.mulf arith.divf arith.remf arith.maximumf "
          "arith.minimumf arith.maxnumf arith.minnumf math.atan2 math.copysign")
CLASSES = "math.isfinite math.isinf math.isnan math.isnormal"
INTEGERS = ("arith.addi arith.subi arith.muli arith.divsi arith.divui arith.ceildivsi "
            "arith.ceildivui arith.floordivsi arith.remsi arith.remui arith.andi "
            "arith.ori arith.xori arith.shli arith.shrsi arith.shrui arith.maxsi "
            "arith.maxui arith.minsi arith.minui math.ipowi")
BITS = "math.absi math.ctlz math.ctpop math.cttz"


class Module:
    def __init__(self, element):
        self.type = self.of(element)
        self.lines, self.results = [], []

    @staticmethod
    def of(element):
        return f"tensor<2x16x3x{element}>"

    def let(self, name, text):
        self.lines.append(f"  %{name} = {text}")

    def result(self, text, type=None):
        self.let(f"r{len(self.results)}", text)
        self.results.append(type or self.type)

    def write(self, arguments):
        arguments = ", ".join(f"%{name}: {type} {{cp.sequence = 1 : i64{more}}}"
                              for name, type, more in arguments)
        values = ", ".join(f"%r{i}" for i in range(len(self.results)))
        print(f"func.func @main({arguments}) -> ({', '.join(self.results)}) {{")
        print("\n".join(self.lines))
        print(f"  return {values} : {', '.join(self.results)}\n}}")


IDS = ', cp.init = {kind = "ids", below = 7 : i64}'


def floats(element):
    module = Module(element)
    t, bits, i32 = module.type, Module.of("i1"), Module.of("i32")
    module.let("one", f"arith.constant dense<1.0> : {t}")
    module.let("a", f"math.absf %x : {t}")
    module.let("v", f"arith.addf %a, %one : {t}")
    module.let("u", f"arith.divf %one, %v : {t}")
    for operand, ops in UNARY.items():
        for op in ops.split():
            module.result(f"{op} %{operand} : {t}")
    for op in BINARY.split():
        module.result(f"{op} %x, %y : {t}")
    module.result(f"math.powf %v, %y : {t}")
    module.result(f"math.fma %x, %y, %u : {t}")
    module.result(f"math.clampf %x to [%u, %v] : {t}")
    module.let("sin, %cos", f"math.sincos %x : {t}")
    module.result(f"arith.subf %sin, %cos : {t}")
    module.let("c", f"arith.cmpf olt, %x, %y : {t}")
    module.result(f"arith.select %c, %x, %y : {bits}, {t}")
    for number, op in enumerate(CLASSES.split()):
        module.let(f"c{number}", f"{op} %x : {t}")
        module.result(f"arith.select %c{number}, %x, %y : {bits}, {t}")
    module.let("scaled", f"arith.mulf %a, %seven : {t}")
    module.lines.insert(0, f"  %seven = arith.constant dense<7.0> : {t}")
    for op in ("arith.fptosi", "arith.fptoui"):
        module.result(f"{op} %scaled : {t} to {i32}", i32)
    for op in ("arith.sitofp", "arith.uitofp"):
        module.result(f"{op} %n : {i32} to {t}")
    module.result(f"math.fpowi %v, %n : {t}, {i32}")
    if element == "f32":
        module.result(f"arith.bitcast %x : {t} to {i32}", i32)
        wide, narrow = Module.of("f64"), Module.of("bf16")
        module.result(f"arith.extf %x : {t} to {wide}", wide)
        module.result(f"arith.truncf %x : {t} to {narrow}", narrow)
    module.write([("x", t, ""), ("y", t, ""), ("n", i32, IDS)])


def integers(element):
    module = Module(element)
    t, bits, index = module.type, Module.of("i1"), Module.of("index")
    module.let("one", f"arith.constant dense<1> : {t}")
    module.let("b", f"arith.addi %n, %one : {t}")
    module.let("low", f"arith.subi %m, %b : {t}")
    for op in INTEGERS.split():
        module.result(f"{op} %low, %b : {t}")
    for op in BITS.split():
        module.result(f"{op} %low : {t}")
    module.let("c", f"arith.cmpi slt, %m, %n : {t}")
    module.result(f"arith.select %c, %m, %n : {bits}, {t}")
    module.let("s, %carry", f"arith.addui_extended %low, %b : {t}, {bits}")
    module.result(f"arith.select %carry, %s, %n : {bits}, {t}")
    for number, op in enumerate(("arith.mulsi_extended", "arith.mului_extended")):
        module.let(f"l{number}, %h{number}", f"{op} %low, %b : {t}")
        module.result(f"arith.addi %l{number}, %h{number} : {t}")
    for number, op in enumerate(("arith.index_cast", "arith.index_castui")):
        module.let(f"i{number}", f"{op} %low : {t} to {index}")
        module.result(f"{op} %i{number} : {index} to {t}")
    if element == "i32":
        wide, narrow = Module.of("i64"), Module.of("i8")
        module.let("t", f"arith.trunci %low : {t} to {narrow}")
        module.result(f"arith.extsi %t : {narrow} to {wide}", wide)
        module.result(f"arith.extui %t : {narrow} to {wide}", wide)
    module.write([("n", t, IDS), ("m", t, IDS)])


if __name__ == "__main__":
    kind = sys.argv[1]
    integers(kind) if kind.startswith("i") else floats(kind)
