// Options of pipelines that do not go together, or do nothing.

// DEFINE: %{options} =
// DEFINE: %{run} = not %cp-opt %s --cp-shard-pipeline="mesh=cp=2 %{options}" 2>&1
// REDEFINE: %{options} = gradients=cotangents split optimizer=sgd
// RUN: %{run} | FileCheck %s --check-prefix=SPLIT
// SPLIT: cp-shard-pipeline: split gives gradients by a function of their own, and an optimizer takes them up; leave one of split and optimizer out
// REDEFINE: %{options} = gradients=loss differentiate=local optimizer=sgd
// RUN: %{run} | FileCheck %s --check-prefix=LOCAL
// LOCAL: cp-shard-pipeline: an optimizer takes up gradients of whole tensors; give differentiate=global with it
// REDEFINE: %{options} = gradients=loss differentiate=local partial-gradients
// RUN: %{run} | FileCheck %s --check-prefix=TERMS
// REDEFINE: %{options} = gradients=loss optimizer=sgd partial-gradients
// RUN: %{run} | FileCheck %s --check-prefix=TERMS
// TERMS: cp-shard-pipeline: partial-gradients is of gradients of whole tensors that the caller adds up; give differentiate=global with it, and no optimizer, or leave it out
// REDEFINE: %{options} = differentiate=local
// RUN: %{run} | FileCheck %s --check-prefix=DIFFERENTIATE
// DIFFERENTIATE: cp-shard-pipeline: differentiate says how gradients are derived; give gradients=loss or gradients=cotangents too, or leave it out
// REDEFINE: %{options} = gradients=loss beta1=0.5
// RUN: %{run} | FileCheck %s --check-prefix=BETA
// BETA: cp-shard-pipeline: beta1 is about steps of an optimizer; give optimizer=sgd or optimizer=adamw too, or leave it out
// REDEFINE: %{options} = gradients=loss recompute-exchanges
// RUN: %{run} | FileCheck %s --check-prefix=AGAIN
// AGAIN: cp-shard-pipeline: recompute-exchanges is about what memory makes again; give memory=BYTES too, or leave it out
// RUN: not %cp-opt %s --pass-pipeline='builtin.module(cp-pipeline{mesh=cp=2 accumulate})' 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: cp-pipeline: accumulate is about steps of an optimizer; give optimizer=sgd or optimizer=adamw too, or leave it out
