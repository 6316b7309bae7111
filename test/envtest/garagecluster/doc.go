// Package garagecluster tests the Garage controller as it is shipped: in the test's own process, under exactly the shipped
// role, against a real API server and real Garage processes. Only the kubelets are simulated.
package garagecluster
