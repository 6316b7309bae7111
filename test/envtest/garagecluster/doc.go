// Package garagecluster tests the Garage controller in the test's own process, against a real API server and real Garage
// processes. Only the kubelets are simulated.
package garagecluster
