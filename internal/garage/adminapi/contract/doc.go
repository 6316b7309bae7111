// Package contract has one table of what Garage does, which real servers of each version and the cluster in memory are held
// to alike: each call of package adminapi, each trap of the Admin API that can be sprung at this level, and what a test of
// a controller counts on in package garagefake. It has no code of its own.
package contract
