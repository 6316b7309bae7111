// Package hoststate writes down what a program may have left behind on a Linux host and compares two such
// notes: links, addresses, routes and rules; kernel settings; the nftables and iptables rule sets; mounts,
// network namespaces, cgroups; processes; files at the places that container software uses.
//
// It is how the local cluster proves that it changed nothing. It reads only, and it reads the kernel itself,
// so that no command need be installed and a comparison does not depend on one that was installed between.
package hoststate
