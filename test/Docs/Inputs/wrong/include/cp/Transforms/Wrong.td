// Descriptions that break each rule of run_examples.py.

def Unnamed : Pass<"cp-unnamed"> {
  let description = [{ Names no test. }];
}

def Missing
    : Pass<"cp-missing", "::mlir::func::FuncOp"> {
  let description = [{ See test/Transforms/missing.mlir. }];
}
