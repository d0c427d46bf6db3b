#mesh = #cp.mesh<"cp" = 4>
func.func @main(%x: tensor<4x3xf32> {cp.layout = #cp.layout<#mesh, [{"cp"}, {}]>, cp.name = "x"})
    -> (tensor<3xf32> {cp.layout = #cp.layout<#mesh, [{}]>}) attributes {cp.view = "local"} {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %a = tensor.extract_slice %x[0, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
  %b = tensor.extract_slice %x[1, 0] [2, 3] [1, 1] : tensor<4x3xf32> to tensor<2x3xf32>
  %s = linalg.reduce ins(%a : tensor<2x3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
      (%in: f32, %acc: f32) { %t = arith.addf %in, %acc : f32 linalg.yield %t : f32 }
  %u = linalg.reduce ins(%b : tensor<2x3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
      (%in: f32, %acc: f32) { %t = arith.addf %in, %acc : f32 linalg.yield %t : f32 }
  %v = arith.addf %s, %u : tensor<3xf32>
  %r = cp.all_reduce %v over ["cp"] of #mesh : tensor<3xf32>
  return %r : tensor<3xf32>
}
