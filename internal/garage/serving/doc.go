// Package serving says which Pods the S3 Service may send requests to (holdfast decisions, the S3 Service).
//
// # What it promises
//
// A Pod serves S3 once its process has a role in the layout that is applied, holds the tables of keys and buckets, and is
// who the GarageNode says it is. It stops as soon as its node is to be drained, has lost its role, or has another disk: a node
// without a role answers every request with "no such key". A process that does not answer is left as it is: that its
// Pod is not ready takes it out, and a controller that reaches nobody must not take everybody out.
//
// # Why that holds
//
// Being in the Service is a label of the Pod, written with the Pod's UID and resourceVersion, so that a later Pod of
// the name begins without it. It says nothing that the facts do not say again at the next pass: after a crash, or with two
// leaders, the label is only written once more.
package serving
