// RUN: cp-opt %s --cp-unify-meshes --split-input-file --verify-diagnostics

// Each two have common parts, the three have not.

#a = #cp.layout<#cp.mesh<"a" = 12>, [{"a"}]>
#b = #cp.layout<#cp.mesh<"b" = 3, "c" = 4>, [{}]>
#c = #cp.layout<#cp.mesh<"d" = 4, "e" = 3>, [{}]>
// expected-error @below {{unify_c1: refine_c2: neighbours on axis "b" of 'b=3,c=4' are 4 ranks apart and on axis "d" of 'd=4,e=3' are 3 ranks apart, and neither divides the other; order or size the axes so that one does}}
func.func @unify_c1(%x: tensor<12xf32, #a>, %y: tensor<12xf32, #b>,
    %z: tensor<12xf32, #c>) attributes {cp.view = "global"} {
  return
}

// -----

#a = #cp.layout<#cp.mesh<"a" = 4>, [{}]>
#b = #cp.layout<#cp.mesh<"a" = 2>, [{}]>
// expected-error @below {{unify_c1: refine_c1: expected meshes of as many ranks, but 'a=4' has 4 and 'a=2' has 2; both must arrange the same ranks, so size one as the other. (Parts of a model on ranks of their own are programs of their own, between which a caller moves tensors.)}}
func.func @ranks(%x: tensor<8xf32, #a>, %y: tensor<8xf32, #b>)
    attributes {cp.view = "global"} {
  return
}

// -----

// A reshard is between the first and the second, the third cuts the zigzag.

#a = #cp.layout<#cp.mesh<"cp" = 4>, [{"cp" zigzag}]>
#b = #cp.layout<#cp.mesh<"ring" = 4>, [{}]>
#c = #cp.layout<#cp.mesh<"dp" = 2, "tp" = 2>, [{}]>
// expected-error @below {{unify_c1: refine_c3: a zigzag cut over axis "cp" of 'cp=4', which is 2 axes of 'cp/0=2,cp/1=2' on the same ranks, cannot be made by one after the other; cut contiguously, or let no axis of the other meshes end within this one}}
func.func @zigzag(%x: tensor<8xf32, #a>, %y: tensor<8xf32, #c>)
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<8xf32, #a> to tensor<8xf32, #b>
  return
}

// -----

#a = #cp.layout<#cp.mesh<"a" = 4>, [{}]>
#b = #cp.layout<#cp.mesh<"b" = 2, "c" = 2>, [{}]>
func.func private @callee(%x: tensor<8xf32, #a>)
func.func @unify_c2(%x: tensor<8xf32, #a>, %y: tensor<8xf32, #b>)
    attributes {cp.view = "global"} {
  // expected-error @below {{unify_c2: takes or gives tensors with layouts, in a function of several meshes; inline what it calls}}
  func.call @callee(%x) : (tensor<8xf32, #a>) -> ()
  return
}

// -----

#a = #cp.layout<#cp.mesh<"a" = 4>, [{}]>
#b = #cp.layout<#cp.mesh<"b" = 2, "c" = 2>, [{}]>
// expected-error @below {{unify_c2: has layouts of several meshes, and is called by another function; inline it there}}
func.func private @called(%x: tensor<8xf32, #a>, %y: tensor<8xf32, #b>)
    attributes {cp.view = "global"} {
  return
}
func.func @caller(%x: tensor<8xf32, #a>, %y: tensor<8xf32, #b>) {
  func.call @called(%x, %y) : (tensor<8xf32, #a>, tensor<8xf32, #b>) -> ()
  return
}

// -----

module {
  module {
    // expected-error @below {{'func.func' op unify_c3: is in a module within the one that was given, which has no function of its own; run the passes on that one, as "builtin.module(builtin.module(...))" does}}
    func.func @unify_c3(%x: tensor<8xf32>) {
      return
    }
  }
}
