// Package render turns a GarageCluster and its GarageNodes into what runs them: the GarageNodes that the controller makes
// itself, and per node a garage.toml, a ConfigMap, a StatefulSet and a role in the layout; for all of them the S3 Service, the
// headless Service and the PodDisruptionBudget (Additive node-local pools, API contract and Parent-controlled workload
// rollout).
//
// Everything here is pure: the same input gives the same bytes, and nothing is read or written. What the schema of the CRDs
// promises and the objects rest on is checked again, and so is what it cannot say: NewPlan and Plan.Node answer with an
// *UnsupportedError, which names the field.
//
// Garage ignores a key of its configuration that it does not know, so what is not rendered from the types in config.go is not
// rendered; tests hold each of their keys against real servers.
package render
