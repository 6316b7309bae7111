// Package whole is the verdict that a Garage store has everything: every node of the layout is up, and every one of them says
// so itself (holdfast decisions, Garage: health is asked of every member; the drain proof, "Whole").
//
// One member's "healthy" is stale for about a second after a neighbour died, which is long enough to take the next one away and
// lose the quorum. So every member is asked at its own address, each has to see every other one, all have to agree on the
// layout, and whoever acts on the verdict asks for it twice, some seconds apart. A member that does not answer is unknown, and
// then the store is not whole. The verdict is pure; Unknown is a value.
package whole
