// RUN: %cp-opt %s --split-input-file --verify-diagnostics --cp-lower-reshards

#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}]>
#documents = #cp.layout<#mesh, [{}, {"cp" zigzag_per_document}]>
func.func @lower_c1(%x: tensor<1x8xf32>) -> tensor<1x8xf32> attributes {cp.view = "local"} {
  // expected-error @below {{'cp.reshard' op lower_c1: from and to an order per document a tensor must have the batch first, with which one cp.positions of the function has its documents, but there is none, or several; use the order zigzag}}
  %0 = cp.reshard %x from #rows to #documents : tensor<1x8xf32> to tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// -----

#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{"cp"}, {}]>
#documents = #cp.layout<#mesh, [{"cp" zigzag_per_document}, {}]>
func.func @lower_c1_first(%x: tensor<8x2xf32>, %cu: tensor<8x3xi32>) -> tensor<8x8xi64> attributes {cp.view = "local"} {
  %places = cp.cut_positions documents(%cu : tensor<8x3xi32>) over ["cp"] of #mesh : tensor<8x8xi64>
  // expected-error @below {{lower_c1: from and to an order per document a tensor must have the batch first, with which one cp.positions of the function has its documents, but the sequence is first; use the order zigzag}}
  %0 = cp.reshard %x from #rows to #documents : tensor<8x2xf32> to tensor<8x2xf32>
  return %places : tensor<8x8xi64>
}

// -----

// Elements of the batch of two lists of documents.
#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}]>
#documents = #cp.layout<#mesh, [{}, {"cp" zigzag_per_document}]>
func.func @lower_c1_several(%x: tensor<1x8xf32>, %a: tensor<1x3xi32>, %b: tensor<1x4xi32>)
    -> (tensor<1x8xi64>, tensor<1x8xi64>) attributes {cp.view = "local"} {
  %0 = cp.cut_positions documents(%a : tensor<1x3xi32>) over ["cp"] of #mesh : tensor<1x8xi64>
  %1 = cp.cut_positions documents(%b : tensor<1x4xi32>) over ["cp"] of #mesh : tensor<1x8xi64>
  // expected-error @below {{lower_c1}}
  %2 = cp.reshard %x from #rows to #documents : tensor<1x8xf32> to tensor<1x8xf32>
  return %0, %1 : tensor<1x8xi64>, tensor<1x8xi64>
}
