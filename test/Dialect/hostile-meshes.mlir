// RUN: %cp-opt %s --cp-shard-pipeline --split-input-file --verify-diagnostics

// Meshes of a module's own that once ended the compiler.

// More ranks than any machine has; only the plan is made.
#mesh = #cp.mesh<"cp" = 2147483648>
#rows = #cp.layout<#mesh, [{"cp"}, {}]>
#columns = #cp.layout<#mesh, [{}, {"cp"}]>
func.func @huge_mesh(%x: tensor<4294967296x4294967296xf32, #rows>)
    -> tensor<4294967296x4294967296xf32, #columns>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<4294967296x4294967296xf32, #rows>
                    to tensor<4294967296x4294967296xf32, #columns>
  return %0 : tensor<4294967296x4294967296xf32, #columns>
}

// -----

#mesh = #cp.mesh<"a" = 2, "b" = 2, "c" = 2, "d" = 2, "e" = 2, "f" = 2>
#there = #cp.layout<#mesh, [{"a", "b", "c"}, {"d", "e", "f"}]>
#back = #cp.layout<#mesh, [{"f", "a", "d"}, {"c", "b" zigzag, "e"}]>
func.func @many_axes(%x: tensor<1024x1024xf32, #there>)
    -> tensor<1024x1024xf32, #back> attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<1024x1024xf32, #there>
                    to tensor<1024x1024xf32, #back>
  return %0 : tensor<1024x1024xf32, #back>
}
