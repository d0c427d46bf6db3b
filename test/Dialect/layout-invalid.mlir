// RUN: %cp-opt %s --split-input-file --verify-diagnostics

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c1: the mesh has no axis "tp"; its axes are "cp"}}
#layout_c1 = #cp.layout<#mesh, [{"tp"}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c1: the mesh has no axis "tp"; its axes are "cp"}}
#layout_c1 = #cp.layout<#mesh, [{}], partial = {"tp"}>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c2: axis "cp" is used by dimension 0 and by dimension 1, expected one use at most; remove one of them}}
#layout_c2 = #cp.layout<#mesh, [{"cp"}, {"cp"}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c2: axis "cp" is used by dimension 0 and by dimension 0}}
#layout_c2 = #cp.layout<#mesh, [{"cp", "cp"}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c2: axis "cp" is used by dimension 0 and by the partial axes}}
#layout_c2 = #cp.layout<#mesh, [{"cp"}], partial = {"cp"}>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c2: axis "cp" is used by the partial axes and by the partial axes}}
#layout_c2 = #cp.layout<#mesh, [{}], partial = {"cp", "cp"}>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c3: the cut over "cp": expected a unit of at least 1, got 0; leave it out to cut anywhere}}
#layout_c3 = #cp.layout<#mesh, [{"cp" : 0}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c3: the cut over "cp": expected a unit of at least 1, got -64}}
#layout_c3 = #cp.layout<#mesh, [{"cp" : -64}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp"}]>
// expected-error @below {{layout_c4: the layout has 1 dimensions, expected 2 as in the tensor; write {} for a dimension that is not cut}}
func.func private @layout_c4(tensor<8x8xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp"}]>
// expected-error @below {{layout_c5: dimension 0 of size 6 does not divide by 4 (axis "cp", contiguous); pad the dimension to a multiple, or cut it over a smaller axis}}
func.func private @layout_c5(tensor<6xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp" zigzag}]>
// expected-error @below {{layout_c5: dimension 0 of size 12 does not divide by 2 x 4 (axis "cp", zigzag); pad the dimension to a multiple, or cut it over a smaller axis or contiguously}}
func.func private @layout_c5_zigzag(tensor<12xf32, #layout>)

// -----

#mesh = #cp.mesh<"ring" = 2, "u" = 4>
#layout = #cp.layout<#mesh, [{"ring", "u"}]>
// expected-error @below {{layout_c5: dimension 0 of size 12, of which the major cuts leave 6, does not divide by 4 (axis "u", contiguous)}}
func.func private @layout_c5_minor(tensor<12xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp" : 64}]>
// expected-error @below {{layout_c5: dimension 0 of size 128 does not divide by 4 (axis "cp", contiguous) x 64 (unit)}}
func.func private @layout_c5_unit(tensor<128xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp" : 9223372036854775806}]>
// expected-error @below {{layout_c5: dimension 0 of size 128 does not divide by 4 (axis "cp", contiguous) x 9223372036854775806 (unit)}}
func.func private @layout_c5_huge_unit(tensor<128xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp"}]>
// expected-error @below {{layout_c5: dimension 0 is cut, so its size must be known, but is '?'}}
func.func private @layout_c5_dynamic(tensor<?xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c7: expected an order, one of 'contiguous' 'zigzag' 'striped' 'zigzag_per_document' 'sizes' 'contiguous_per_document', but got 'spiral'}}
#layout_c7 = #cp.layout<#mesh, [{"cp" spiral}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{expected 'partial'}}
#unknown_part = #cp.layout<#mesh, [{"cp"}], summed = {}>

// -----

// expected-error @below {{invalid kind of attribute specified}}
#no_mesh = #cp.layout<[1], [{}]>

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{expected '['}}
#no_dimensions = #cp.layout<#mesh, {}>

// -----

#mesh = #cp.mesh<"cp" = 4>
#layout = #cp.layout<#mesh, [{"cp" striped : 2}]>
// expected-error @below {{layout_c5: dimension 0 of size 12 does not divide by 4 (axis "cp", striped) x 2 (unit); pad the dimension to a multiple, or cut it over a smaller axis}}
func.func private @layout_c5_striped(tensor<12xf32, #layout>)

// -----

#mesh = #cp.mesh<"cp" = 4>
// expected-error @below {{layout_c3: the cut over "cp": expected a unit of at least 1, got 0}}
#layout = #cp.layout<#mesh, [{"cp" striped : 0}]>
func.func private @layout_c3_striped(tensor<12xf32, #layout>)

// -----

// expected-error @below {{layout_c8: the cut over "cp": expected no unit in the order zigzag_per_document, which cuts documents anywhere, got 2; leave it out, or use zigzag}}
func.func private @layout_c8_unit(tensor<1x8xf32, #cp.layout<#cp.mesh<"cp" = 2>, [{}, {"cp" zigzag_per_document : 2} ]>>)

// -----

// expected-error @below {{layout_c8: dimension 1: expected the order zigzag_per_document in the first cut of its dimension, got it in number 1; let the axis that cuts documents come first, or use another order}}
func.func private @layout_c8(tensor<1x8xf32, #cp.layout<#cp.mesh<"a" = 2, "b" = 2>, [{}, {"b", "a" zigzag_per_document} ]>>)

// -----

// expected-error @below {{layout_c8: dimension 1: expected contiguous cuts behind the order contiguous_per_document, got zigzag; leave that out}}
func.func private @layout_c8_behind(tensor<1x8xf32, #cp.layout<#cp.mesh<"a" = 2, "b" = 2>, [{}, {"a" contiguous_per_document, "b" zigzag} ]>>)

// -----

// expected-error @below {{layout_c8: dimension 0: expected the order sizes in the last cut of its dimension, got it in number 0 of 2; list the sizes of the ranks on all axes there}}
func.func private @layout_c8_sizes(tensor<8xf32, #cp.layout<#cp.mesh<"a" = 2, "b" = 2>, [{"a" sizes [3, 5], "b"} ]>>)

// -----

// expected-error @below {{layout_c8: dimension 0: expected the order striped not in front of sizes, which say where elements are; leave it out}}
func.func private @layout_c8_front(tensor<8xf32, #cp.layout<#cp.mesh<"a" = 2, "b" = 2>, [{"a" striped, "b" sizes [1, 2, 2, 3]} ]>>)

// -----

// expected-error @below {{layout_c9: dimension 0: expected a size for each of the 4 ranks on axes "a", "b", got 2; list one for each, 0 for a rank that holds nothing}}
func.func private @layout_c9_joint(tensor<8xf32, #cp.layout<#cp.mesh<"a" = 2, "b" = 2>, [{"a", "b" sizes [3, 5]} ]>>)

// -----

// expected-error @below {{layout_c9: dimension 0: expected a size for each of the 3 ranks on axis "cp", got 2; list one for each, 0 for a rank that holds nothing}}
func.func private @layout_c9(tensor<11xf32, #cp.layout<#cp.mesh<"cp" = 3>, [{"cp" sizes [4, 7]} ]>>)

// -----

// expected-error @below {{layout_c9: the cut over "cp": expected sizes of at least 0, got -1; a rank that holds nothing has a size of 0}}
func.func private @layout_c9_negative(tensor<3xf32, #cp.layout<#cp.mesh<"cp" = 2>, [{"cp" sizes [4, -1]} ]>>)

// -----

// expected-error @below {{layout_c9: the cut over "cp": expected a size for each rank on the axis, got none; list them as in sizes [4, 0, 7]}}
func.func private @layout_c9_none(tensor<3xf32, #cp.layout<#cp.mesh<"cp" = 2>, [{"cp" sizes []} ]>>)

// -----

// expected-error @below {{layout_c9: the cut over "cp": expected no unit beside sizes, got 2; leave it out}}
func.func private @layout_c9_unit(tensor<11xf32, #cp.layout<#cp.mesh<"cp" = 2>, [{"cp" sizes [4, 7] : 2} ]>>)

// -----

// expected-error @below {{layout_c5: dimension 0: expected 12 as the sum of the sizes on axis "cp", got 11; let the sizes add up to that of the dimension}}
func.func private @layout_c5_sizes(tensor<12xf32, #cp.layout<#cp.mesh<"cp" = 3>, [{"cp" sizes [4, 0, 7]} ]>>)
