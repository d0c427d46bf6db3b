// Zigzag parts are gathered and put back as if there were as many parts as ranks:
// the order of blocks is that of i % R, where 2R blocks want i % 2R.
#mesh = #cp.mesh<"cp" = 2>
#zigzag = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>
func.func @main(%x: tensor<1x8x4xf32> {cp.layout = #zigzag})
    -> tensor<1x16x4xf32> attributes {cp.view = "local"} {
  %all = cp.all_gather %x over ["cp"] of #mesh {dim = 1}
      : tensor<1x8x4xf32> -> tensor<1x16x4xf32>
  return %all : tensor<1x16x4xf32>
}
