// Package apimodel is an API server in memory, for property tests that make thousands of histories: it has no process, no
// network and no clock of its own, and it remembers every version of every object, so that a reader may be given an old one.
//
// Why not the fake client of controller-runtime. The controllers rest on what it leaves out: a UID for each object, a
// generation that counts changes of the spec, a UID among the preconditions of a delete, an apply that changes nothing and
// therefore leaves the resourceVersion alone, and old versions for a cache to show. What it has of server-side apply is
// apimachinery's own field management, and that is used here too.
//
// What is as in a real API server:
//
//   - resourceVersions come from one counter. A write that changes nothing has none.
//   - Preconditions: the resourceVersion and the UID of an apply, of a merge patch, of a JSON patch, of a status update and of a
//     delete. A creation of a name that is taken fails.
//   - Server-side apply, its managedFields and force, by apimachinery; a create and a patch are recorded for their field
//     owner too, for the kinds that are Managed.
//   - Status is a subresource; generation counts changes of spec; a Pod, and an object with finalizers, are only marked by a
//     delete.
//
// What is not: defaulting, validation and immutable fields (a dry run only says whether the preconditions hold); watches
// (see package fault, where a cache is a reader of old versions); garbage collection, which is the world's; field
// management of status and of kinds that are not Managed.
package apimodel
