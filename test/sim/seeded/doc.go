// Package seeded puts faults into a controller, from outside, that its tests have to find: one that does not is no test of
// what it is there for. What is wrapped is what a controller is given; nothing of it is shipped.
package seeded
