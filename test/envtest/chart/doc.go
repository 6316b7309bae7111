// Package chart tests the charts as they are shipped: rendered by helm, taken by a real API server, and with their programs
// running under the rights and with the flags that they give.
package chart
