// RUN: %cp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{mesh_c1: axis 0 has an empty name; give every axis a name of its own}}
func.func private @mesh_c1() attributes {test.mesh = #cp.mesh<"" = 2>}

// -----

// expected-error @below {{mesh_c1: the axes 0 and 1 are both named "cp"; rename one of them}}
func.func private @mesh_c1() attributes {test.mesh = #cp.mesh<"cp" = 2, "cp" = 2>}

// -----

// expected-error @below {{mesh_c2: axis "cp": expected a size of at least 1, got 0; drop the axis or correct its size}}
func.func private @mesh_c2() attributes {test.mesh = #cp.mesh<"cp" = 0>}

// -----

// expected-error @below {{mesh_c2: axis "cp": expected a size of at least 1, got -4}}
func.func private @mesh_c2() attributes {test.mesh = #cp.mesh<"cp" = -4>}

// -----

// expected-error @below {{mesh_c3: expected at most 2147483648 ranks, got 65536 x 65536 up to axis "cp"; make the axes smaller}}
func.func private @mesh_c3() attributes {test.mesh = #cp.mesh<"dp" = 65536, "cp" = 65536>}

// -----

// expected-error @below {{mesh_c3: expected at most 2147483648 ranks, got 2 x 9223372036854775807 up to axis "cp"}}
func.func private @mesh_c3() attributes {test.mesh = #cp.mesh<"dp" = 2, "cp" = 9223372036854775807>}

// -----

// expected-error @below {{integer value too large}}
func.func private @size_beyond_64_bits() attributes {test.mesh = #cp.mesh<"cp" = 99999999999999999999>}

// -----

// expected-error @below {{expected '='}}
func.func private @size_missing() attributes {test.mesh = #cp.mesh<"cp">}

// -----

// expected-error @below {{invalid kind of attribute specified}}
func.func private @name_not_a_string() attributes {test.mesh = #cp.mesh<1 = 2>}

// -----

// expected-error @below {{mesh_c4: expected at most 64 axes, got 65; merge axes that are always used together}}
func.func private @mesh_c4() attributes {test.mesh = #cp.mesh<"a0" = 1, "a1" = 1, "a2" = 1, "a3" = 1, "a4" = 1, "a5" = 1, "a6" = 1, "a7" = 1, "a8" = 1, "a9" = 1, "a10" = 1, "a11" = 1, "a12" = 1, "a13" = 1, "a14" = 1, "a15" = 1, "a16" = 1, "a17" = 1, "a18" = 1, "a19" = 1, "a20" = 1, "a21" = 1, "a22" = 1, "a23" = 1, "a24" = 1, "a25" = 1, "a26" = 1, "a27" = 1, "a28" = 1, "a29" = 1, "a30" = 1, "a31" = 1, "a32" = 1, "a33" = 1, "a34" = 1, "a35" = 1, "a36" = 1, "a37" = 1, "a38" = 1, "a39" = 1, "a40" = 1, "a41" = 1, "a42" = 1, "a43" = 1, "a44" = 1, "a45" = 1, "a46" = 1, "a47" = 1, "a48" = 1, "a49" = 1, "a50" = 1, "a51" = 1, "a52" = 1, "a53" = 1, "a54" = 1, "a55" = 1, "a56" = 1, "a57" = 1, "a58" = 1, "a59" = 1, "a60" = 1, "a61" = 1, "a62" = 1, "a63" = 1, "a64" = 1>}
