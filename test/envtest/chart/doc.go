// Package chart tests the chart as it is shipped: rendered by helm, taken by a real API server, and with the program
// running under the rights and with the flags that it gives.
package chart
