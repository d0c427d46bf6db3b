// Descriptions that break each rule of run_examples.py, and one that does not.

def Good : CP_Attr<"Good", "good"> {
  let description = [{
    ```mlir
    func.func private @f() attributes {test.a = #cp.mesh<"cp" = 4>}
    ```
  }];
}

def NoExample : CP_Op<"no_example"> {
  let summary = "Has no description";
}

def BadExample : CP_GroupOp<"bad_example", [Communicates]> {
  let description = [{
    Constraints:
    - bad_c1: nothing checks it.

    ```mlir
    func.func @f() {
      cp.bad_example
    }
    ```
  }];
}

def Bare : CP_Attr<"Bare", "bare"> {
  let description = [{ Without an example. }];
}

def BareEnum
    : EnumAttr<CP_Dialect, SomeEnum, "bare_enum"> {
}

def Unknown : CP_Surprise<"surprise"> {
}
